// Package hvd is what distributed code calls: a cell under %%run, a file given to gorovod run, and a compiled Go
// program alike.
//
// A run is one program started as several processes, called ranks. The functions here tell a process which of them it
// is:
//
//	           host a                host b
//	Rank       0       1             2       3       4      0 … Size-1, all of the run
//	LocalRank  0       1             0       1       2      0 … LocalSize-1, those of the host
//	LocalSize  2       2             3       3       3
//	CrossRank  0       0             1       1       0      0 … CrossSize-1, those with the same LocalRank
//	CrossSize  2       2             2       2       1
//
// Ranks are given out host by host. LocalRank is what a process picks a device of its host by. CrossRank counts the
// hosts that have a process with the same LocalRank, in the order of their ranks; only when hosts have different
// numbers of processes does CrossSize differ between ranks.
//
// The usual way to share out work needs two of them:
//
//	for i := hvd.Rank(); i < len(files); i += hvd.Size() {
//		count(files[i])
//	}
//
// The place of a process is a fact about it and never changes. It is taken once, when the program starts, from the
// environment variables HOROVOD_RANK, HOROVOD_SIZE, HOROVOD_LOCAL_RANK, HOROVOD_LOCAL_SIZE, HOROVOD_CROSS_RANK,
// HOROVOD_CROSS_SIZE and HOROVOD_HOSTNAME that the launcher sets; what code does to its environment later changes
// nothing. Where none of the first six is set, as in a notebook's cell without %%run or in a test, the process is rank
// 0 of 1, so that the same code runs alone. Where they contradict each other there is no right answer, and every
// function but Hostname panics with a message that names the variable: a run in which each process took itself for
// rank 0 of 1 would do all the work several times.
package hvd
