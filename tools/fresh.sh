#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the README's two commands on a machine that nobody prepared: a bare Debian 12 made by debootstrap, with a clone of
# HEAD in it, nothing beside the clone, an empty HOME, no variables but those of a login, once as root and once as a user
# who has sudo. Each user gets a new Debian. Needs root, debootstrap, and apt sources for Debian 12.
#
#	tools/fresh.sh [--user root|user] [--command demo|test|check]... [--keep] [--renew]
#
#	--user     only this one of the two
#	--command  only these commands of make (default: demo, then test)
#	--keep     leave the Debian systems in the cache folder, to look at (default: removed)
#	--renew    make the base again, which is otherwise taken from the cache
#
# The base and downloaded packages are kept in ~/.cache/sonde-fresh (SONDE_FRESH_CACHE), transcripts in build-fresh/. The
# last lines say of each run whether it passed. Exit status: 0 all passed, 1 one failed, 77 this machine cannot do it.
# Where packages come from (apt's sources and proxy, pip's and npm's settings, certificates) is read from this machine
# while it runs. All mounts are in a mount namespace of this process, so none outlives it, however it ends.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
release=bookworm
cache=${SONDE_FRESH_CACHE:-$HOME/.cache/sonde-fresh}
logs=$top/build-fresh
users=() commands=() keep=false renew=false

usage() { sed -n 's/^#\t\(tools\)/usage: \1/p' "$top/tools/fresh.sh" >&2; exit 129; }
cannot() { echo "fresh: $*" >&2; exit 77; }

arguments=("$@")
while [ $# -gt 0 ]; do
	case "$1 ${2:-}" in
	"--user root" | "--user user") users+=("$2"); shift ;;
	"--command demo" | "--command test" | "--command check") commands+=("$2"); shift ;;
	"--keep "*) keep=true ;;
	"--renew "*) renew=true ;;
	*) usage ;;
	esac
	shift
done
[ ${#users[@]} -gt 0 ] || users=(root user)
[ ${#commands[@]} -gt 0 ] || commands=(demo test)

if [ "${SONDE_FRESH_INSIDE:-}" != $$ ]; then
	[ "$(id -u)" = 0 ] || cannot "only root can make a system and change into it"
	command -v debootstrap >/dev/null || cannot "debootstrap is not installed"
	unshare --mount true 2>/dev/null || cannot "this system allows no mount namespaces"
	export SONDE_FRESH_INSIDE=$$ # exec keeps the number
	exec unshare --mount --propagation private "$top/tools/fresh.sh" "${arguments[@]}"
fi

# Lines "SITE SUITE COMPONENT" of what apt has here for the release.
apt_sources() {
	apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
		awk -v release=$release '$2 == release || index($2, release "-") == 1' | sort -u
}

# What a person has who has just cloned the repository: git, make, sudo and certificates.
make_base() {
	local site new=$cache/new.$$
	site=$(apt_sources | awk -v release=$release '$2 == release && $3 == "main" { print $1; exit }')
	[ -n "$site" ] || cannot "apt has no source for Debian $release here"
	echo "fresh: making the base"
	debootstrap --variant=minbase --include=ca-certificates,git,make,sudo $release "$new" "$site" >"$logs/debootstrap" 2>&1 ||
		{ tail -5 "$logs/debootstrap" >&2; rm -rf "$new"; cannot "debootstrap failed"; }
	rm -rf "$new"/var/cache/apt/archives/*.deb "$new"/var/lib/apt/lists/*
	tar -C "$new" -cf "$cache/base.tar.$$" . && mv "$cache/base.tar.$$" "$cache/base.tar"
	rm -rf "$new"
}

# How this machine reaches package registries, told to the new system in ROOT.
tell_registries() {
	local root=$1 file
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	apt_sources | sed 's/^/deb /' >"$root/etc/apt/sources.list"
	apt-config dump --no-empty --format '%f "%v";%n' Acquire |
		grep -E '^Acquire::(Check-|Retries|(http|https)::)' >"$root/etc/apt/apt.conf.d/90fresh" || true
	[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
	# a certificate that only this machine trusts, such as that of a proxy
	mkdir -p "$root/usr/local/share/ca-certificates"
	csplit -s -z -n 4 -f "$root/usr/local/share/ca-certificates/fresh-" -b '%04d.crt' \
		/etc/ssl/certs/ca-certificates.crt '/BEGIN CERTIFICATE/' '{*}'
	chroot "$root" update-ca-certificates >/dev/null 2>&1
	for file in "$HOME/.npmrc" /etc/npmrc; do
		[ ! -e "$file" ] || grep -hE '^(registry|cafile|proxy|https-proxy) *=' "$file" >>"$root/etc/npmrc" || true
	done
}

# make_system NAME: unpacks the base and prepares it; sets root.
make_system() {
	root=$cache/system-$1
	remove_system
	mkdir -p "$root" "$cache/archives"
	tar -C "$root" -xf "$cache/base.tar"
	printf '127.0.0.1\tlocalhost\n127.0.1.1\t%s\n' "$(hostname)" >"$root/etc/hosts"
	hostname >"$root/etc/hostname"
	tell_registries "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	# as systemd does at every start of a Debian
	mountpoint -q "$root/sys/kernel/tracing" || mount -t tracefs tracefs "$root/sys/kernel/tracing" || true
	mount --bind /dev/pts "$root/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	mkdir -p "$root/var/cache/apt/archives"
	mount --bind "$cache/archives" "$root/var/cache/apt/archives"
	home=/root
	if [ "$1" = user ]; then
		home=/home/user
		chroot "$root" useradd --create-home --shell /bin/bash user
		echo 'user ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/user"
	fi
	git clone -q --no-hardlinks "$top" "$root$home/sonde"
	chown -R --reference="$root$home" "$root$home/sonde"
}

# Ends what the tests left running in it, and says so: a test that leaves processes is a defect.
end_processes() {
	local process
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/root" 2>/dev/null)" = "$root" ] || continue
		echo "fresh: left running: $(tr '\0' ' ' <"$process/cmdline")" 
		kill -KILL "${process#/proc/}" 2>/dev/null || true
	done
}

remove_system() {
	[ -n "${root:-}" ] && [ -d "$root" ] || return 0
	end_processes
	for mounted in var/cache/apt/archives dev/shm dev/pts sys proc; do
		umount -l "$root/$mounted" 2>/dev/null || true
	done
	# never into what is still mounted
	rm -rf --one-file-system "$root"
}

# run_in USER COMMAND: with what a login sets, and no more.
run_in() {
	local name=$1 path=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games proxies=()
	[ "$name" != root ] || path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	for variable in http_proxy https_proxy no_proxy; do
		[ -z "${!variable:-}" ] || proxies+=("$variable=${!variable}")
	done
	chroot --userspec="$name" --groups="$name" "$root" env -i HOME="$home" USER="$name" LOGNAME="$name" SHELL=/bin/bash \
		PATH="$path" "${proxies[@]}" bash -c "cd ~/sonde && $2" </dev/null 9>&- &
	wait $! # so that a signal ends this at once
}

mkdir -p "$cache" "$logs"
exec 9>"$cache/lock"
flock -n 9 || cannot "another one runs"
trap '$keep || remove_system' EXIT
trap 'exit 130' INT TERM HUP
commit=$(git log -1 --format=%h)
git diff --quiet HEAD || echo "fresh: changes that are not committed are not tried"
{ [ -e "$cache/base.tar" ] && ! $renew; } || make_base

verdicts=() status=0
for user in "${users[@]}"; do
	make_system "$user"
	for command in "${commands[@]}"; do
		log=$logs/$user-$command start=$SECONDS verdict=passed
		echo "fresh: make $command as $user"
		run_in "$user" "make $command" >"$log" 2>&1 || { verdict="FAILED (status $?)"; status=1; }
		tail -n 12 "$log" | sed 's/^/    /'
		verdicts+=("$commit, $user: make $command $verdict in $((SECONDS - start)) s")
		[ "$verdict" = passed ] || mkdir -p "$log.logs"
		[ "$verdict" = passed ] || cp -r "$root$home"/sonde/build/test-logs/. "$log.logs" 2>/dev/null || true
	done
	end_processes
	$keep || remove_system
done
printf '%s\n' "${verdicts[@]}"
exit $status
