# SPDX-License-Identifier: Apache-2.0
# Completion of sonde for bash (4.1 or later). What may be completed is sonde's own answer: sonde --complete WORD...
# Installed where bash-completion looks; or: source sonde.bash

_sonde() {
	local line=${COMP_LINE:0:COMP_POINT} word said after= kept
	local -a words
	COMPREPLY=()
	# the words as the shell would read them, but for those that bash would split at = and :
	read -r -a words <<<"$line"
	[[ $line != *[[:space:]] ]] || words+=("")
	word=${words[-1]}
	# bash replaces what stands behind the last of these characters only
	kept=${word%"${word##*[=:]}"}
	while IFS=$'\t' read -r said _; do
		case $said in
		:*) after=$said ;;
		*) COMPREPLY+=("${said#"$kept"}") ;;
		esac
	done < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
	case $after in
	:files) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "${word#"$kept"}") ;;
	:programs) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -c -f -- "$word" | sort -u) ;;
	:command*) _sonde_program "${words[${after#:command } + 1]}" ;;
	esac
	[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}

# The line from the program on, as that program has it completed.
_sonde_program() {
	local offset=1
	while [[ $offset -lt $COMP_CWORD && ${COMP_WORDS[offset]} != "$1" ]]; do offset=$((offset + 1)); done
	if declare -F _command_offset >/dev/null; then
		_command_offset $offset
	else
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}

complete -F _sonde sonde
