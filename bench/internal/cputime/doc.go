// Package cputime says how much processor time other processes have used, for benchmarks.
package cputime
