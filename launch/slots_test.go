package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorovod/gorovod/rendezvous"
)

func TestPlace(t *testing.T) {
	for _, tc := range []struct {
		hosts string // name:slots ...
		np    int
		want  string // local/localSize cross/crossSize host, ...
	}{
		{"a:1", 1, "0/1 0/1 a"},
		{"a:4", 2, "0/2 0/1 a, 1/2 0/1 a"},
		{"a:1 b:2", 3, "0/1 0/2 a, 0/2 1/2 b, 1/2 0/1 b"},
		{"a:2 b:2", 3, "0/2 0/2 a, 1/2 0/1 a, 0/1 1/2 b"},
		{"a:2 b:2 c:9", 4, "0/2 0/2 a, 1/2 0/2 a, 0/2 1/2 b, 1/2 1/2 b"},
		{"a:1", 2, "error"},
	} {
		t.Run(fmt.Sprintf("%s np %d", tc.hosts, tc.np), func(t *testing.T) {
			var hosts []host
			for f := range strings.FieldsSeq(tc.hosts) {
				var h host
				name, count, _ := strings.Cut(f, ":")
				h.name = name
				if _, err := fmt.Sscan(count, &h.slots); err != nil {
					t.Fatal(err)
				}
				hosts = append(hosts, h)
			}
			slots, err := place(hosts, tc.np)
			var got []string
			for i, s := range slots {
				if s.Rank != i || s.Size != tc.np {
					t.Errorf("slot %d is %+v", i, s)
				}
				got = append(got, fmt.Sprintf("%d/%d %d/%d %s", s.LocalRank, s.LocalSize, s.CrossRank, s.CrossSize, s.Host))
			}
			if err != nil {
				got = []string{"error"}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRankList(t *testing.T) {
	for _, tc := range []struct {
		ranks []int
		want  string
	}{
		{nil, "no rank"}, {[]int{3}, "rank 3"}, {[]int{0, 1}, "ranks 0 and 1"}, {[]int{0, 2, 5}, "ranks 0, 2 and 5"},
		{[]int{2, 3, 4}, "ranks 2 to 4"},
		{[]int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}, "13 ranks, among them 0, 2 and 4"},
	} {
		if got := rankList(tc.ranks); got != tc.want {
			t.Errorf("got %q; want %q", got, tc.want)
		}
	}
}

func TestRunErrorText(t *testing.T) {
	e := &RunError{
		Size: 8,
		Failures: []RankFailure{
			{Rank: 2, Host: "a", PID: 41, Failure: rendezvous.Failure{
				Kind: rendezvous.FailurePanic, Message: "runtime error: index out of range [5] with length 3",
				Stack:      []rendezvous.Frame{{Func: "pick", File: "cell[3]", Line: 4, Column: 9}, {File: "cell[7]", Line: 2}},
				LastOutput: "loading\nready\n",
			}},
			{Rank: 5, Host: "b", Failure: rendezvous.Failure{Kind: rendezvous.FailureError, Message: "peer gone\nmore"}},
			{Rank: 6, Host: "b", Failure: rendezvous.Failure{Kind: rendezvous.FailureSignal, Message: "was killed by SIGKILL"}},
		},
		Stopped: []int{0, 1, 3}, Done: []int{4, 7},
	}
	want := `rank 2 on a (pid 41) panicked: runtime error: index out of range [5] with length 3
    cell[3]:4:9 in pick
    cell[7]:2
its last lines on standard error:
    loading
    ready
of the other 7: rank 5 failed: peer gone; rank 6 was killed by SIGKILL; ranks 0, 1 and 3 were stopped; ranks 4 and 7 had finished`
	if diff := cmp.Diff(want, e.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestTheSameFailureOfManyRanksIsToldOnce(t *testing.T) {
	e := &RunError{Size: 4, Stopped: []int{1}}
	for _, rank := range []int{3, 0, 2} {
		e.Failures = append(e.Failures, RankFailure{Rank: rank, Host: "a", Failure: rendezvous.Failure{Kind: rendezvous.FailureError, Message: "no luck"}})
	}
	const want = "rank 3 on a failed: no luck\nof the other 3: ranks 0 and 2 failed in the same way; rank 1 was stopped"
	if got := e.Error(); got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}
