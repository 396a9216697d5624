# What the checks need beside Go: installed under .cache/, each thing in a place
# named by a hash of the files that pin it, so that a change of a pin installs
# afresh and nothing else does. To be sourced in the root of the repository.

# key FILE_OR_TEXT... prints a short hash of the files' contents and the texts.
key() {
	local part
	for part in "$@"; do
		if [[ -f $part ]]; then cat "$part"; else echo "$part"; fi
	done | sha256sum | cut -c1-12
}

# apt_install PACKAGE... installs Debian packages where that is allowed.
apt_install() {
	[[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || return 1
	echo "    apt-get install $*"
	{
		apt-get update -qq &&
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
	} </dev/null >/dev/null
}

# need_go ends the run where there is no Go: nothing below works without it.
need_go() {
	command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
	command -v go >/dev/null && return
	echo "go is missing: install Go $(awk '$1 == "go" {print $2}' go.mod) or later, see https://go.dev/dl" >&2
	exit 1
}

# need_c_compiler: the race detector is linked by one.
need_c_compiler() {
	local compiler
	compiler=$(go env CC)
	command -v "${compiler%% *}" >/dev/null || apt_install gcc libc6-dev
}

# need_tmux: the terminal interface is driven in it.
need_tmux() {
	command -v tmux >/dev/null || apt_install tmux
}

# install_staticcheck builds it once per pin and Go version and sets $staticcheck.
install_staticcheck() {
	staticcheck=$PWD/.cache/bin/staticcheck-$(key internal/tools/go.mod internal/tools/go.sum "$(go version)")
	[[ -x $staticcheck ]] && return
	mkdir -p .cache/bin
	CGO_ENABLED=0 go build -C internal/tools -o "$staticcheck.new" honnef.co/go/tools/cmd/staticcheck &&
		mv "$staticcheck.new" "$staticcheck"
}

# find_python prints a Python of at least 3.10 that can make virtualenvs.
find_python() {
	local candidate
	for candidate in python3 python3.{14,13,12,11,10} /usr/bin/python3; do
		if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
			"$candidate" -c 'import sys; print(sys.executable)'
			return
		fi
	done
	return 1
}

# need_python: the real peers are Python programs.
need_python() {
	find_python >/dev/null || { apt_install python3 python3-venv && find_python >/dev/null; }
}

# venv_folder prints where the peers' virtualenv is or will be.
venv_folder() {
	local python
	python=$(find_python) || return 1
	echo "$PWD/.cache/venv-$(key interop/requirements.txt "$python" "$("$python" -VV)")"
}

# install_peers makes the virtualenv with the pinned Python peers. It is whole
# only with its stamp: one that was interrupted is thrown away. (It cannot be
# made elsewhere and moved, its scripts hold its path.)
install_peers() {
	local folder
	folder=$(venv_folder) || return 1
	[[ -f $folder/.complete ]] && return
	mkdir -p .cache
	(
		flock 9
		[[ -f $folder/.complete ]] && exit # another run was faster
		rm -rf "$folder"
		"$(find_python)" -m venv "$folder" || exit
		for try in 1 2 3; do
			# Exactly the list, and not compiled: most modules are never imported.
			if "$folder/bin/python" -m pip install --quiet --no-input --no-deps --no-compile \
				--disable-pip-version-check --requirement interop/requirements.txt; then
				break
			fi
			echo "    pip failed, try $try of 3"
			((try < 3)) || exit 1
			sleep "$((try * 3))"
		done
		"$folder/bin/python" -m pip check && "$folder/bin/python" -c 'import uagents' || exit
		touch "$folder/.complete"
	) 9>.cache/venv.lock
}
