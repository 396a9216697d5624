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

# note OUTCOME TIME NAME keeps a line for the summary.
note() { outcomes+=("$(printf '%-7s %7s  %s' "$@")"); }

# step NAME COMMAND... runs the command under a heading and notes how it went.
step() {
	local name=$1 began=${EPOCHREALTIME/[^0-9]/}
	shift
	echo "==> $name"
	if "$@" </dev/null; then
		note ok "$(seconds "$began")" "$name"
		echo "    ok $(seconds "$began")"
		return
	fi
	failed=$((failed + 1))
	note FAILED "$(seconds "$began")" "$name"
	echo "    FAILED $(seconds "$began")"
	return 1
}

# skip NAME REASON notes that a check cannot run. Nobody looks at skips on a
# build machine, so there it is a failure.
skip() {
	if [[ ${CI:-} == true ]]; then
		failed=$((failed + 1))
		note FAILED - "$1 ($2)"
		echo "==> $1"$'\n'"    FAILED: $2"
	else
		skipped+=("$1 ($2)")
		note skipped - "$1"
		echo "==> $1"$'\n'"    skipped: $2"
	fi
}

# install_step NAME FOR COMMAND... is a step without which the check FOR is skipped.
install_step() {
	local name=$1 for=$2 began=${EPOCHREALTIME/[^0-9]/}
	shift 2
	echo "==> install $name"
	if "$@" </dev/null; then
		note ok "$(seconds "$began")" "install $name"
		echo "    ok $(seconds "$began")"
		return
	fi
	skip "$for" "could not install $name: see above"
	return 1
}

# beside COMMAND... starts a command beside the steps that follow.
beside() {
	beside_log=$(mktemp)
	{
		local began=${EPOCHREALTIME/[^0-9]/} status=0
		"$@" || status=$?
		echo "    took $(seconds "$began") beside the steps above"
		exit "$status"
	} </dev/null >"$beside_log" 2>&1 &
	beside_pid=$!
}

# await_beside waits for that command and shows what it said.
await_beside() {
	local status=0
	wait "$beside_pid" || status=$?
	cat "$beside_log"
	rm -f "$beside_log"
	return "$status"
}

# summary prints all outcomes and returns whether nothing failed.
summary() {
	echo
	echo "==> summary"
	printf '    %s\n' "${outcomes[@]}"
	if ((${#skipped[@]})); then
		echo "    ${#skipped[@]} skipped: $(printf '%s; ' "${skipped[@]}" | sed 's/; $//')"
	fi
	echo "    $((${#outcomes[@]} - failed - ${#skipped[@]})) ok, $failed failed, ${#skipped[@]} skipped in $(seconds "$run_began")"
	((failed == 0))
}
