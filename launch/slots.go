package launch

import (
	"fmt"
	"os"

	"github.com/gorovod/gorovod/rendezvous"
)

// host is a machine and the number of ranks that it has room for.
type host struct {
	name  string
	slots int
}

// localHost is this machine, with room for as many ranks as are wanted.
func localHost(np int) host {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	return host{name: name, slots: np}
}

// place gives np ranks their slots, filling the hosts one after the other. A rank's cross rank is the host's index
// among those that have its local rank.
func place(hosts []host, np int) ([]rendezvous.Slot, error) {
	var slots []rendezvous.Slot
	crossSize := map[int]int{} // by local rank
	for _, h := range hosts {
		n := min(h.slots, np-len(slots))
		for local := range n {
			slots = append(slots, rendezvous.Slot{
				Rank: len(slots), Size: np, LocalRank: local, LocalSize: n, CrossRank: crossSize[local], Host: h.name,
			})
			crossSize[local]++
		}
	}
	if len(slots) < np {
		return nil, usagef("place %d ranks: the hosts have only %d slots; lower -np or give more", np, len(slots))
	}
	for i := range slots {
		slots[i].CrossSize = crossSize[slots[i].LocalRank]
	}
	return slots, nil
}

// ranks writes a list of ranks for people: "rank 3", "ranks 0, 2 and 5", "ranks 0 to 7".
func rankList(ranks []int) string {
	switch n := len(ranks); {
	case n == 0:
		return "no rank"
	case n == 1:
		return fmt.Sprintf("rank %d", ranks[0])
	case n > 2 && ranks[n-1]-ranks[0] == n-1:
		return fmt.Sprintf("ranks %d to %d", ranks[0], ranks[n-1])
	case n > 12:
		return fmt.Sprintf("%d ranks, among them %d, %d and %d", n, ranks[0], ranks[1], ranks[2])
	default:
		text := "ranks "
		for i, r := range ranks {
			switch i {
			case 0:
			case n - 1:
				text += " and "
			default:
				text += ", "
			}
			text += fmt.Sprint(r)
		}
		return text
	}
}
