package main

import (
	"math"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct {
		name   string
		sorted []int
		part   float64
		want   int
	}{
		{"none", nil, 0.5, 0},
		{"one", []int{7}, 0.999, 7},
		{"the least", hundred, 0, 1},
		{"p50 of an even number", hundred, 0.5, 50},
		{"p50 of an odd number", []int{1, 2, 3}, 0.5, 2},
		{"p99", hundred, 0.99, 99},
		{"p99.9 of few is the most", hundred, 0.999, 100},
		{"all", hundred, 1, 100},
	} {
		if got := percentile(c.sorted, c.part); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	values := []float64{5, 1, 3}
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"none", nil, 0},
		{"odd", values, 3},
		{"even", []float64{4, 1, 3, 2}, 2.5},
		{"one is no number", []float64{4, math.NaN(), 2, 3}, 3},
		{"all are no numbers", []float64{math.NaN()}, 0},
		{"one round was interrupted", []float64{10, 11, 9, 10_000, 10}, 10},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if values[0] != 5 {
		t.Error("median sorts its caller's values")
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		name   string
		of, to []float64
		want   float64
	}{
		{"none", nil, nil, 0},
		{"half", []float64{1, 2, 3}, []float64{2, 4, 6}, 0.5},
		{"a round in which the machine was slow", []float64{20, 200, 21}, []float64{10, 100, 10}, 2},
		{"a round without the second", []float64{20, 30}, []float64{10, 0}, 2},
		{"a round is missing", []float64{20, 90}, []float64{10}, 2},
	} {
		if got := ratio(c.of, c.to); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSlope(t *testing.T) {
	n := []float64{10, 100, 1000, 10_000}
	for _, c := range []struct {
		name string
		cost func(n float64) float64
		want float64
	}{
		{"flat", func(float64) float64 { return 42 }, 0},
		{"linear", func(n float64) float64 { return 3 * n }, 1},
		{"quadratic", func(n float64) float64 { return n * n / 7 }, 2},
	} {
		var cost []float64
		for _, n := range n {
			cost = append(cost, c.cost(n))
		}
		if got := slope(n, cost); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if !math.IsNaN(slope(n[:1], n[:1])) || !math.IsNaN(slope(n, n[:2])) {
		t.Error("a slope of one point, or of points without a cost")
	}
}

func TestMicros(t *testing.T) {
	if got := micros(1500 * time.Nanosecond); got != 1.5 {
		t.Errorf("%v, want 1.5", got)
	}
}
