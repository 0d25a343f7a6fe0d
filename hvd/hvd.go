package hvd

import "os"

// Rank gives the number of this process in the run, from 0 to Size()-1.
func Rank() int { return mustPlace().rank }

// Size gives the number of processes in the run.
func Size() int { return mustPlace().size }

// LocalRank gives the number of this process among those of its host, from 0 to LocalSize()-1.
func LocalRank() int { return mustPlace().localRank }

// LocalSize gives the number of the run's processes on this host.
func LocalSize() int { return mustPlace().localSize }

// CrossRank gives the number of this process's host among the hosts that have a process with the same LocalRank, from
// 0 to CrossSize()-1.
func CrossRank() int { return mustPlace().crossRank }

// CrossSize gives the number of hosts that have a process with the same LocalRank as this one.
func CrossSize() int { return mustPlace().crossSize }

// Hostname gives the name of this host as the run was given it (--hosts, a hostfile), which may be an alias that only
// the launcher knows. Outside of a run it is the name that the operating system gives.
func Hostname() string {
	if host := ours.hostname; host != "" {
		return host
	}
	host, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return host
}

// ours is the place of this process.
var ours, errOurs = placeIn(os.LookupEnv)

func mustPlace() *place {
	if errOurs != nil {
		panic(errOurs)
	}
	return &ours
}
