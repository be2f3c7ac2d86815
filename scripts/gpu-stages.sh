# Stages of scripts/gpu-first, sourced by it: each with a limit, a log, a state that outlives the call, a table and one
# archive. Needs $out, $results, $asked (stages asked for; empty: all), $again, $limit (seconds of the call; 0: none).
# shellcheck shell=sh disable=SC2154

all_stages="facts configure build device calibrate limits ranks reference attention import drift plan trial validate"
all_stages="$all_stages trial-bf16 validate-bf16 tp2 pp2-1f1b pp2-interleaved dp2-zero1 dp2-zero2 dp2-zero3 ep2"
all_stages="$all_stages memcheck racecheck initcheck oom report"
most_cuts=5     # a stage that so many calls have cut short has failed
not_finished=75 # exit code: run the same command again
began=$(date +%s)
states=$out/stages

# The end of a call is for the archive; a stage that gets less than this is left to the next call.
reserve=$((limit / 20))
[ "$reserve" -le 20 ] || reserve=20
period=20
[ "$limit" -eq 0 ] || period=$((1 + reserve / 2))

seconds_left() {
  if [ "$limit" -eq 0 ]; then echo 1000000; else echo $((began + limit - reserve - $(date +%s))); fi
}

# State of a stage: "passed", "failed", "cut", "running", "waiting" or "skipped"; empty: none yet.
state_of() { sed -n 1p "$states/$1" 2>/dev/null || true; }
# set_state NAME STATE SECONDS WORDS
set_state() {
  printf '%s\n%s\n%s\n' "$2" "$3" "$4" >"$states/.$1.new"
  mv "$states/.$1.new" "$states/$1"
}

table() {
  for each in $all_stages; do
    [ -e "$states/$each" ] || continue
    printf '%-16s %5s s  %s\n' "$each" "$(sed -n 2p "$states/$each")" "$(sed -n 3p "$states/$each")"
  done
}

# save WHO: the table, and one archive with it and everything but what can be built again. Both appear whole.
save() {
  table >"$out/stages.txt.$1"
  mv "$out/stages.txt.$1" "$out/stages.txt"
  cp "$out/stages.txt" "$results/.stages.txt.$1"
  mv "$results/.stages.txt.$1" "$results/stages.txt"
  # Files grow meanwhile; tar says so with 1.
  tar -C "$out" --exclude=./build --exclude=./packages --exclude="./${results#"$out"/}" --exclude='.*.new' \
    --exclude='stages.txt.*' -czf "$results/.gpu-results.$1" . 2>/dev/null || [ $? -eq 1 ] || return 0
  mv "$results/.gpu-results.$1" "$results/gpu-results.tar.gz"
}

# Saves while a stage runs, so that a machine that is taken away leaves its last seconds' points. Ends with the script.
keep_saving() {
  main=$$
  (
    trap - TERM INT HUP
    while sleep "$period" && kill -0 "$main" 2>/dev/null; do save keeper; done
  ) >/dev/null 2>&1 &
  keeper=$!
}

# Called on a signal: the stage that runs is cut, and the next call continues it.
cut_short() {
  trap '' TERM INT HUP
  if [ -n "${child:-}" ]; then
    kill "$child" 2>/dev/null || true
    mark_cut "$name" "stopped by a signal"
  fi
  kill "$keeper" 2>/dev/null || true
  save last
  cat "$out/stages.txt"
  exit "$not_finished"
}

# mark_cut NAME WHY
mark_cut() {
  cuts=$(($(cat "$states/.$1.cuts" 2>/dev/null || echo 0) + 1))
  echo "$cuts" >"$states/.$1.cuts"
  spent=$(($(date +%s) - started))
  if [ "$cuts" -ge "$most_cuts" ]; then
    set_state "$1" failed "$spent" "failed (cut in $cuts calls, $2; $1.log)"
  else
    set_state "$1" cut "$spent" "cut ($2): the next call continues it"
  fi
}

is_asked() {
  [ -z "$asked" ] && return 0
  case " $asked " in *" $1 "*) return 0 ;; esac
  return 1
}

# A stage that passed is not run again, nor one that failed, unless it is asked for by name.
will_run() {
  is_asked "$1" || return 1
  [ "$again" = no ] || return 0
  case "$(state_of "$1")" in
    passed) return 1 ;;
    failed) [ -n "$asked" ] ;;
    *) return 0 ;;
  esac
}

skip() { if will_run "$1"; then set_state "$1" skipped - "skipped: $2"; fi; }

# stage NAME SECONDS COMMAND...: its output goes to NAME.log; what comes after does not wait for its success. Its limit
# is what is left of the call where that is less.
stage() {
  name=$1 own_limit=$2
  shift 2
  will_run "$name" || return 0
  left=$(seconds_left)
  if [ "$left" -le "$reserve" ]; then
    set_state "$name" waiting - "waiting: no time was left in this call"
    return 0
  fi
  seconds=$own_limit
  if [ "$left" -lt "$seconds" ]; then seconds=$left; fi
  printf '== %s (%s s): %s\n' "$name" "$seconds" "$*" | tee -a "$out/$name.log" >&2
  started=$(date +%s)
  set_state "$name" running - "running since $(date -u +%H:%M:%S); where this is the last line, it was killed then"
  save main
  timeout --kill-after=10 "$seconds" "$@" >>"$out/$name.log" 2>&1 &
  child=$!
  code=0
  wait "$child" || code=$?
  child=
  spent=$(($(date +%s) - started))
  if [ "$code" -eq 0 ]; then
    set_state "$name" passed "$spent" passed
  elif { [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; } && [ "$seconds" -lt "$own_limit" ]; then
    mark_cut "$name" "no time was left in this call after $seconds s"
  elif [ "$code" -eq 124 ]; then
    set_state "$name" failed "$spent" "failed (over $own_limit s; $name.log)"
  else
    set_state "$name" failed "$spent" "failed ($code; $name.log)"
  fi
  [ "$code" -eq 0 ] || tail -n 5 "$out/$name.log" >&2
  save main
}

# Begins a call: what an earlier one left, on this machine or in an archive ($from).
begin_stages() {
  mkdir -p "$results"
  results=$(CDPATH='' cd -- "$results" && pwd)
  if [ -n "$from" ] && [ ! -d "$states" ]; then tar -C "$out" -xzf "$from"; fi
  mkdir -p "$states"
  child=
  keep_saving
  trap cut_short TERM INT HUP
}

# Ends a call: the table, and 0, 1 (a stage failed) or 75 (not finished).
end_stages() {
  trap - TERM INT HUP
  kill "$keeper" 2>/dev/null || true
  save last
  cat "$out/stages.txt"
  code=0
  for each in $all_stages; do
    is_asked "$each" || continue
    case "$(state_of "$each")" in
      cut | waiting | running)
        echo "not finished: run the same command again, and it continues" >&2
        exit "$not_finished"
        ;;
      failed) code=1 ;;
    esac
  done
  exit "$code"
}
