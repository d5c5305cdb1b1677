#!/bin/sh
# The compiler of this project's crates when they are fuzzed (RUSTC_WORKSPACE_WRAPPER): with the
# instrumentation that libFuzzer reads and every assertion on. Their dependencies are compiled as always,
# so that builds share them. So is a crate of macros: the compiler loads it, and has no fuzzer in it.
case " $* " in *" --crate-type proc-macro "*) exec "$@" ;; esac
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions=on -Coverflow-checks=on \
  -Copt-level=2 -Ccodegen-units=16
