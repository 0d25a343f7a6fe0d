package hvd

import (
	"strings"
	"testing"
)

func TestPlace(t *testing.T) {
	whole := func(change ...string) map[string]string {
		env := map[string]string{
			"HOROVOD_RANK": "3", "HOROVOD_SIZE": "4", "HOROVOD_LOCAL_RANK": "1", "HOROVOD_LOCAL_SIZE": "2",
			"HOROVOD_CROSS_RANK": "1", "HOROVOD_CROSS_SIZE": "2", "HOROVOD_HOSTNAME": "b",
		}
		for _, kv := range change {
			name, v, set := strings.Cut(kv, "=")
			if delete(env, "HOROVOD_"+name); set {
				env["HOROVOD_"+name] = v
			}
		}
		return env
	}
	for _, test := range []struct {
		name string
		env  map[string]string
		want place
		err  string
	}{
		{"alone", nil, place{0, 1, 0, 1, 0, 1, ""}, ""},
		{"unrelated settings", map[string]string{"HOROVOD_CYCLE_TIME": "5"}, place{0, 1, 0, 1, 0, 1, ""}, ""},
		{"a rank", whole(), place{3, 4, 1, 2, 1, 2, "b"}, ""},
		{"no host name", whole("HOSTNAME"), place{3, 4, 1, 2, 1, 2, ""}, ""},
		{"a size is missing", whole("SIZE"), place{}, "are set but not HOROVOD_SIZE;"},
		{"only a size", map[string]string{"HOROVOD_SIZE": "4"}, place{}, "HOROVOD_SIZE is set but not HOROVOD_RANK, HOROVOD_LOCAL_RANK, "},
		{"not a number", whole("RANK=first"), place{}, `HOROVOD_RANK="first" is not a number`},
		{"empty", whole("LOCAL_SIZE="), place{}, `HOROVOD_LOCAL_SIZE="" is not a number`},
		{"too large a number", whole("SIZE=99999999999999999999"), place{}, "is not a number"},
		{"rank is size", whole("RANK=4"), place{}, "HOROVOD_RANK=4 is outside of 0 to 3 (HOROVOD_SIZE=4)"},
		{"negative rank", whole("LOCAL_RANK=-1"), place{}, "HOROVOD_LOCAL_RANK=-1 is outside of 0 to 1"},
		{"no processes", whole("SIZE=0"), place{}, "HOROVOD_SIZE=0, which must be at least 1"},
		{"more on the host than there are", whole("LOCAL_SIZE=5"), place{}, "HOROVOD_LOCAL_SIZE=5 is more than HOROVOD_SIZE=4"},
		{"more hosts than processes", whole("CROSS_SIZE=5"), place{}, "HOROVOD_CROSS_SIZE=5 is more than HOROVOD_SIZE=4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := placeIn(func(name string) (string, bool) { v, ok := test.env[name]; return v, ok })
			switch {
			case test.err == "" && (err != nil || got != test.want):
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got the error %v, want %s", err, test.err)
			}
		})
	}
}
