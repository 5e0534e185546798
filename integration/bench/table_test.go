package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		values []float64
		median float64
		want   string
	}{
		{"one", []float64{2}, 2, "one                              2.00     2.00     2.00\n"},
		{"three, unsorted", []float64{300.5, 100.25, 200}, 200, "three, unsorted                200.00   100.25   300.50\n"},
		{"four", []float64{4, 3, 2, 1}, 3, "four                             3.00     1.00     4.00\n"},
		{"below zero", []float64{-1, 5, 0}, 0, "below zero                       0.00    -1.00     5.00\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := append([]float64(nil), tt.values...)
			var out strings.Builder
			if got := row(&out, tt.name, tt.values); got != tt.median {
				t.Errorf("the median is %v, want %v", got, tt.median)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.values); diff != "" {
				t.Errorf("row changed the order of the pairs (-before +after):\n%s", diff)
			}
		})
	}
}
