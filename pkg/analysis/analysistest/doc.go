// Package analysistest makes cells and experiments whose figures are known before
// they are computed. Tests of pkg/analysis and of cmd/bg-analyze use it; nothing
// else does.
//
// In a cell of arm a and trial k the times to first token of the measured burst
// are Base(a, k)·(1 + i/239) for i = 0 … 239, so a type-7 quantile p is
// Base·(1 + p). In s1 and s2 job A completes 1 line every 2 s in a burst and 2 lines
// a second in an idle phase.
package analysistest
