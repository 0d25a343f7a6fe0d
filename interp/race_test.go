//go:build race

package interp

const raceDetector = true
