package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// head prints the line above the rows of a table.
func head(w io.Writer, what string) {
	fmt.Fprintf(w, "%-28s %8s %8s %8s\n", what, "median", "fastest", "slowest")
}

// row prints the median, the least and the greatest of some values, of which
// there is at least one, and returns the median.
func row(w io.Writer, name string, values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	median := sorted[len(sorted)/2]
	fmt.Fprintf(w, "%-28s %8.2f %8.2f %8.2f\n", name, median, sorted[0], sorted[len(sorted)-1])
	return median
}

// inMs converts durations to milliseconds.
func inMs(times []time.Duration) []float64 {
	out := make([]float64, len(times))
	for i, took := range times {
		out[i] = ms(took)
	}
	return out
}

// each combines the two values of each pair.
func each(x, y []float64, f func(x, y float64) float64) []float64 {
	out := make([]float64, min(len(x), len(y)))
	for i := range out {
		out[i] = f(x[i], y[i])
	}
	return out
}

func over(x, y float64) float64  { return x / y }
func minus(x, y float64) float64 { return x - y }
