package testcluster

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Every returns the first of many similar cases to test, counted from 1, and the distance to the next: a random start and
// step, or 1 and 1 with E2E_ALL. E2E_START repeats a start.
func Every(t testing.TB, step int) (first, next int) {
	t.Helper()
	if os.Getenv("E2E_ALL") != "" {
		return 1, 1
	}
	first, err := strconv.Atoi(os.Getenv("E2E_START"))
	if err != nil || first < 1 || first > step {
		first = 1 + rand.IntN(step)
	}
	t.Logf("only each %d. case from %d on: E2E_START=%d repeats it, E2E_ALL=1 takes all", step, first, first)
	return first, step
}
