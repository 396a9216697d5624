# Steps with a name, a time and an outcome, and a summary of them. To be sourced.
#
# A failed step does not end the run: whoever waits for the checks wants all that
# is wrong, not the first of it.

outcomes=()
failed=0
skipped=()
run_began=${EPOCHREALTIME/[^0-9]/}

# seconds BEGAN prints the time since BEGAN (microseconds) as 12.3s.
seconds() {
	local tenths=$(((${EPOCHREALTIME/[^0-9]/} - $1) / 100000))
	echo "$((tenths / 10)).$((tenths % 10))s"
}

# step NAME COMMAND... runs the command under a heading and notes how it went.
step() {
	local name=$1 began=${EPOCHREALTIME/[^0-9]/} outcome=ok
	shift
	echo "==> $name"
	if ! "$@" </dev/null; then
		outcome=FAILED
		failed=$((failed + 1))
	fi
	outcomes+=("$(printf '%-7s %7s  %s' "$outcome" "$(seconds "$began")" "$name")")
	echo "    $outcome $(seconds "$began")"
	[[ $outcome == ok ]]
}

# begin NAME COMMAND... starts a step beside the ones that follow.
begin() {
	beside_name=$1 beside_log=$(mktemp)
	shift
	{
		local began=${EPOCHREALTIME/[^0-9]/} status=0
		"$@" || status=$?
		echo "    took $(seconds "$began"), beside the steps above"
		exit "$status"
	} </dev/null >"$beside_log" 2>&1 &
	beside_pid=$!
}

# finish waits for the step that was begun; the time noted is the time waited.
finish() { step "$beside_name" finish_beside; }

finish_beside() {
	local status=0
	wait "$beside_pid" || status=$?
	cat "$beside_log"
	rm -f "$beside_log"
	return "$status"
}

# skip NAME REASON notes that a check did not run. Nobody looks at skips on a
# build machine, so there it is a failure.
skip() {
	echo "==> $1"
	if [[ ${CI:-} == true ]]; then
		failed=$((failed + 1))
		outcomes+=("$(printf '%-7s %7s  %s' FAILED - "$1 ($2)")")
		echo "    FAILED: $2"
		return
	fi
	skipped+=("$1 ($2)")
	outcomes+=("$(printf '%-7s %7s  %s' skipped - "$1")")
	echo "    skipped: $2"
}

# summary prints all outcomes and returns whether nothing failed.
summary() {
	echo
	echo "==> summary"
	printf '    %s\n' "${outcomes[@]}"
	if ((${#skipped[@]})); then
		local IFS=,
		echo "    ${#skipped[@]} skipped: ${skipped[*]//,/, }"
	fi
	echo "    $((${#outcomes[@]} - failed - ${#skipped[@]})) ok, $failed failed, ${#skipped[@]} skipped in $(seconds "$run_began")"
	((failed == 0))
}
