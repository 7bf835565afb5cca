package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// percentile returns the value that the given part of sorted values is not above, by the
// nearest rank: one that was measured, never one between two. part is from 0 to 1. It
// returns the zero value if there are none.
func percentile[T cmp.Ordered](sorted []T, part float64) T {
	if len(sorted) == 0 {
		var none T
		return none
	}
	rank := int(math.Ceil(part * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// median returns the middle value, or the mean of the two in the middle; 0 if there are
// none. Values that are not a number are left out: a round without requests has no
// percentile.
func median(values []float64) float64 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(sorted) == 0 {
		return 0
	}
	slices.Sort(sorted)
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// ratio returns the median of the ratios of two series, round by round: what slows the
// whole machine down for a round slows both, and is not in the ratio. Rounds in which one
// of them is missing, or the second is 0, do not count.
func ratio(of, to []float64) float64 {
	var ratios []float64
	for i := range min(len(of), len(to)) {
		if to[i] != 0 {
			ratios = append(ratios, of[i]/to[i])
		}
	}
	return median(ratios)
}

// micros is a time in microseconds.
func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// slope returns the exponent k of the power n^k that fits the points best, by least
// squares of the logarithms: 0 is flat, 1 is linear. It is not a number for fewer than two
// points, or one that is not positive.
func slope(n, cost []float64) float64 {
	if len(n) != len(cost) || len(n) < 2 {
		return math.NaN()
	}
	var sx, sy, sxx, sxy float64
	for i := range n {
		x, y := math.Log(n[i]), math.Log(cost[i])
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	count := float64(len(n))
	return (count*sxy - sx*sy) / (count*sxx - sx*sx)
}
