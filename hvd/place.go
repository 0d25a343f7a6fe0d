package hvd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// place is where a process stands in a run.
type place struct {
	rank, size           int
	localRank, localSize int
	crossRank, crossSize int
	hostname             string // "" where no launcher has given one
}

// placeIn reads a place from environment variables. The zero environment is that of a process alone.
func placeIn(lookup func(name string) (string, bool)) (place, error) {
	p := place{size: 1, localSize: 1, crossSize: 1}
	p.hostname, _ = lookup("HOROVOD_HOSTNAME")
	variables := []struct {
		name string
		to   *int
	}{
		{"HOROVOD_RANK", &p.rank}, {"HOROVOD_SIZE", &p.size},
		{"HOROVOD_LOCAL_RANK", &p.localRank}, {"HOROVOD_LOCAL_SIZE", &p.localSize},
		{"HOROVOD_CROSS_RANK", &p.crossRank}, {"HOROVOD_CROSS_SIZE", &p.crossSize},
	}
	var set, missing []string
	var errs []error
	for _, v := range variables {
		text, ok := lookup(v.name)
		if !ok {
			missing = append(missing, v.name)
			continue
		}
		set = append(set, v.name)
		n, err := strconv.Atoi(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s=%q is not a number", v.name, text))
		}
		*v.to = n
	}
	switch {
	case set == nil:
		return p, nil
	case missing != nil:
		errs = append(errs, fmt.Errorf("%s set but not %s", are(set), strings.Join(missing, ", ")))
	case errs == nil:
		errs = append(errs, p.contradiction())
	}
	if err := errors.Join(errs...); err != nil {
		return p, fmt.Errorf("hvd: cannot tell this process's place in the run: %w; "+
			"start it with gorovod, or unset HOROVOD_* to run it alone", err)
	}
	return p, nil
}

func are(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// contradiction tells what cannot be true of any process in any run.
func (p *place) contradiction() error {
	for _, of := range []struct {
		rankName, sizeName string
		rank, size         int
	}{
		{"HOROVOD_RANK", "HOROVOD_SIZE", p.rank, p.size},
		{"HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE", p.localRank, p.localSize},
		{"HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE", p.crossRank, p.crossSize},
	} {
		switch {
		case of.size < 1:
			return fmt.Errorf("%s=%d, which must be at least 1", of.sizeName, of.size)
		case of.rank < 0 || of.rank >= of.size:
			return fmt.Errorf("%s=%d is outside of 0 to %d (%s=%d)", of.rankName, of.rank, of.size-1, of.sizeName, of.size)
		case of.size > p.size:
			return fmt.Errorf("%s=%d is more than HOROVOD_SIZE=%d", of.sizeName, of.size, p.size)
		}
	}
	return nil
}
