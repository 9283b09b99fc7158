package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hawktrace/hawk/internal/builtin"
	"github.com/hawktrace/hawk/internal/probe"
)

// shells are those whose command lines hawk can complete.
var shells = []string{"bash", "zsh", "fish"}

// completion is a script for a shell that completes hawk's options and their
// arguments, probes behind -l, and builtins and probes inside a program. Names
// of probes that the machine has are asked of hawk -l at the time.
func completion(shell string) string {
	switch shell {
	case "zsh":
		return completeZsh()
	case "fish":
		return completeFish()
	}
	return completeBash()
}

// words are what a program is made of: probe kinds and builtins. Builtins that begin with two
// underscores are the library's own.
func words() (kinds, builtins []string) {
	for _, k := range probe.Kinds() {
		kinds = append(kinds, k.Name)
	}
	for _, name := range builtin.Names() {
		if !strings.HasPrefix(name, "__") {
			builtins = append(builtins, name)
		}
	}
	slices.Sort(builtins)
	return kinds, builtins
}

// shown are the options that completion offers: those that hawk has a use for.
func shown() []option {
	return slices.DeleteFunc(options(), func(o option) bool { return o.group == compatible })
}

// An argKind is how an argument without a list of values is completed. It is derived from the name
// of the argument in help, so that a new option is completed by itself.
type argKind uint8

const (
	anyArg argKind = iota
	fileArg
	dirArg
	dirListArg // directories, with colons in between
	pidArg
	commandArg
	programArg
)

// argument tells by the name that help has for it.
func (o *option) argument() argKind {
	switch o.arg {
	case "FILE":
		return fileArg
	case "DIR":
		return dirArg
	case "DIR:…":
		return dirListArg
	case "PID":
		return pidArg
	case "COMMAND":
		return commandArg
	case "PROGRAM":
		return programArg
	}
	return anyArg
}

// spellings are the forms in which an option can be written.
func (o *option) spellings() []string {
	var out []string
	if o.short != 0 {
		out = append(out, "-"+string(o.short))
	}
	if o.long != "" {
		out = append(out, "--"+o.long)
	}
	return out
}

// completeBash writes the script for bash. Functions for each sort of word come first, then one
// case for each option that takes an argument, from the table of options. Arguments in brackets
// are not completed: the word behind such an option is not its argument.
func completeBash() string {
	var b strings.Builder
	kinds, builtins := words()
	fmt.Fprintf(&b, `# bash completion for hawk; made by hawk --completion bash

_hawk_kinds='%s'
_hawk_builtins='%s'

# Names of probes: the shell splits words at colons, so what stands in front of
# the last one is taken off again.
_hawk_probes()
{
	local word="${COMP_LINE:0:COMP_POINT}" before
	word="${word##*[[:space:]]}"
	word="${word#[\'\"]}"
	if [[ $word == *:* ]]; then
		COMPREPLY=( $(compgen -W "$(hawk -l "$word*" 2>/dev/null)" -- "$word") )
		before="${word%%"${word##*:}"}"
		[[ $COMP_WORDBREAKS == *:* ]] && COMPREPLY=( "${COMPREPLY[@]#"$before"}" )
	else
		COMPREPLY=( $(compgen -S : -W "$_hawk_kinds" -- "$word") )
		compopt -o nospace
	fi
}

# The last of several directories; the shell may have split the word at colons.
_hawk_dirs()
{
	local before=""
	[[ $1 == : ]] && set -- ""
	[[ $1 == *:* ]] && before="${1%%:*}:"
	COMPREPLY=( $(compgen -d -P "$before" -- "${1##*:}") )
}

# The last word of a program.
_hawk_program()
{
	local text="${1#[\'\"]}" last stem name
	last="${text##*[^A-Za-z0-9_]}"
	stem="${text%%"$last"}"
	for name in $(compgen -W "$_hawk_kinds $_hawk_builtins" -- "$last"); do
		COMPREPLY+=( "$stem$name" )
	done
	# The program goes on behind the word: where there is one candidate only, the
	# shell would close the quote.
	[[ ${#COMPREPLY[@]} == 1 ]] && COMPREPLY+=( "${COMPREPLY[0]} " )
	compopt -o nospace
}

_hawk()
{
	local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" words
	COMPREPLY=()
	if [[ $COMP_CWORD == 1 && $cur != -* ]]; then
		COMPREPLY=( $(compgen -W "$(hawk tools --words 2>/dev/null)" -- "$cur") $(compgen -f -- "$cur") )
		return
	elif [[ ${COMP_WORDS[1]} =~ ^(tools|help)$ && $cur != -* ]]; then
		COMPREPLY=( $(compgen -W "$(hawk tools --words 2>/dev/null)" -- "$cur") )
		return
	elif [[ $cur == -* ]] && words="$(hawk tools --words "${COMP_WORDS[1]}" 2>/dev/null)"; then
		COMPREPLY=( $(compgen -W "$words" -- "$cur") )
		return
	fi
	case "$prev" in
`, strings.Join(kinds, " "), strings.Join(builtins, " "))
	for _, o := range shown() {
		if action := bashAction(&o); action != "" {
			fmt.Fprintf(&b, "\t%s) %s; return ;;\n", strings.Join(o.spellings(), "|"), action)
		}
	}
	var names []string
	for _, o := range shown() {
		names = append(names, o.spellings()...)
	}
	fmt.Fprintf(&b, `	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=( $(compgen -W '%s' -- "$cur") )
	elif [[ " ${COMP_WORDS[*]:1:COMP_CWORD-1} " =~ ' '(-[a-z]*l[a-z]*|--list)' ' ]]; then
		_hawk_probes
	else
		COMPREPLY=( $(compgen -f -- "$cur") )
	fi
}

complete -o filenames -F _hawk hawk
`, strings.Join(names, " "))
	return b.String()
}

// bashAction is what completes the word behind an option; "" if that is not its argument.
func bashAction(o *option) string {
	switch {
	case o.long == "list":
		// -l has no argument: the operand that is about to be typed is what it lists.
		return "_hawk_probes"
	case o.arg == "" || o.optional():
		return ""
	case len(o.values) > 0:
		return `COMPREPLY=( $(compgen -W '` + strings.Join(o.values, " ") + `' -- "$cur") )`
	}
	switch o.argument() {
	case fileArg:
		return `COMPREPLY=( $(compgen -f -- "$cur") )`
	case dirArg:
		return `COMPREPLY=( $(compgen -d -- "$cur") )`
	case dirListArg:
		return `_hawk_dirs "$cur"`
	case pidArg:
		return `COMPREPLY=( $(compgen -W "$(cd /proc && echo [0-9]*)" -- "$cur") )`
	case commandArg:
		return `COMPREPLY=( $(compgen -c -- "${cur#[\'\"]}") )`
	case programArg:
		return `_hawk_program "$cur"`
	}
	return ":"
}

// quoteZsh makes the text of an option fit for _arguments.
var quoteZsh = strings.NewReplacer("'", "'\\''", "[", `\[`, "]", `\]`, ":", `\:`)

// completeZsh writes the script for zsh, whose _arguments knows options by specifications: the row
// of each option becomes one. An option with two forms is one group, so that either is offered
// once.
func completeZsh() string {
	var b strings.Builder
	kinds, builtins := words()
	fmt.Fprintf(&b, `#compdef hawk
# zsh completion for hawk; made by hawk --completion zsh

_hawk_kinds=(%s)
_hawk_builtins=(%s)

_hawk_probes() {
	if [[ $PREFIX == *:* ]]; then
		local -a names
		names=(${(f)"$(hawk -l "${(Q)PREFIX}*" 2>/dev/null)"})
		compadd -a names
	else
		compadd -S : -a _hawk_kinds
		_files
	fi
}

# The last word of a program.
_hawk_program() {
	compset -P '*[^A-Za-z0-9_]'
	# The program goes on behind the word: no suffix, so that the quote stays open.
	compadd -S '' -a _hawk_kinds _hawk_builtins
}

_hawk() {
	local -a args tools
	if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
		tools=(${(f)"$(hawk tools --words 2>/dev/null)"})
		compadd -a tools
		_files
		return
	elif [[ ${words[2]} == (tools|help) && $PREFIX != -* ]]; then
		tools=(${(f)"$(hawk tools --words 2>/dev/null)"})
		compadd -a tools
		return
	elif [[ $PREFIX == -* && ${words[2]} != -* ]]; then
		tools=(${(f)"$(hawk tools --words "${words[2]}" 2>/dev/null)"})
		if (( $#tools )); then
			compadd -- $tools
			return
		fi
	fi
	args=(
`, strings.Join(kinds, " "), strings.Join(builtins, " "))
	for _, o := range shown() {
		doc := "'[" + quoteZsh.Replace(o.doc) + "]" + zshArgument(&o) + "'"
		if names := o.spellings(); len(names) == 2 {
			fmt.Fprintf(&b, "\t\t'(%s)'{%s}%s\n", strings.Join(names, " "), strings.Join(names, ","), doc)
		} else {
			fmt.Fprintf(&b, "\t\t%s%s\n", names[0], doc)
		}
	}
	b.WriteString(`	)
	if (( ${words[(I)(--list|-[a-zA-Z]#l[a-zA-Z]#)]} && ! ${words[(I)-e]} )); then
		_arguments -s -S $args '*:probe:_hawk_probes'
	else
		_arguments -s -S $args '*:file:_files'
	fi
}

_hawk "$@"
`)
	return b.String()
}

// zshArgument is the part of a specification that is about the argument of an option: what it is
// called, and what completes it.
func zshArgument(o *option) string {
	if o.arg == "" || o.optional() {
		return ""
	}
	action := map[argKind]string{fileArg: "_files", dirArg: "_files -/", dirListArg: "_dir_list",
		pidArg: "_pids", commandArg: "_command_names", programArg: "_hawk_program"}[o.argument()]
	if len(o.values) > 0 {
		action = "(" + strings.Join(o.values, " ") + ")"
	}
	return ":" + quoteZsh.Replace(o.arg) + ":" + cmp.Or(action, " ")
}

// quoteFish makes a text fit between single quotes.
var quoteFish = strings.NewReplacer(`\`, `\\`, "'", `\'`)

// completeFish writes the script for fish: one complete command for each option.
func completeFish() string {
	var b strings.Builder
	kinds, builtins := words()
	fmt.Fprintf(&b, `# fish completion for hawk; made by hawk --completion fish

set -g __hawk_kinds %s
set -g __hawk_builtins %s

function __hawk_probes
	set -l word (commandline -ct | string trim -c \'\")
	if string match -q '*:*' -- $word
		hawk -l "$word*" 2>/dev/null
	else
		printf '%%s:\n' $__hawk_kinds
	end
end

# The last of several directories.
function __hawk_dirs
	set -l word (commandline -ct)
	set -l before (string match -r '^.*:' -- $word)
	for dir in (__fish_complete_directories (string replace -r '^.*:' '' -- $word))
		echo $before$dir
	end
end

# The last word of a program.
function __hawk_program
	set -l text (commandline -ct | string trim -l -c \'\")
	set -l stem (string replace -r '[A-Za-z0-9_]*$' '' -- $text)
	printf '%%s\n' $stem$__hawk_kinds $stem$__hawk_builtins
end

function __hawk_listing
	string match -qr -- '^(-[a-z]*l[a-z]*|--list)$' (commandline -opc)
end

complete -c hawk -n __hawk_listing -f -a '(__hawk_probes)'

# The tool that the line begins with.
function __hawk_tool
	set -l words (commandline -opc)
	test (count $words) -ge 2; and hawk tools --words $words[2] 2>/dev/null
end

complete -c hawk -n 'test (count (commandline -opc)) -eq 1' -a '(hawk tools --words 2>/dev/null)'
complete -c hawk -n '__fish_seen_subcommand_from tools help' -f -a '(hawk tools --words 2>/dev/null)'
complete -c hawk -n 'string match -q -- "-*" (commandline -ct)' -a '(__hawk_tool)'
`, strings.Join(kinds, " "), strings.Join(builtins, " "))
	for _, o := range shown() {
		b.WriteString("complete -c hawk")
		if o.short != 0 {
			fmt.Fprintf(&b, " -s %c", o.short)
		}
		if o.long != "" {
			b.WriteString(" -l " + o.long)
		}
		switch {
		case o.arg == "" || o.optional():
		case len(o.values) > 0:
			fmt.Fprintf(&b, " -x -a '%s'", quoteFish.Replace(strings.Join(o.values, " ")))
		default:
			b.WriteString(map[argKind]string{
				anyArg: " -x", fileArg: " -r -F", dirArg: " -x -a '(__fish_complete_directories)'",
				dirListArg: " -x -a '(__hawk_dirs)'", pidArg: " -x -a '(__fish_complete_pids)'",
				commandArg: " -x -a '(__fish_complete_command)'", programArg: " -x -a '(__hawk_program)'",
			}[o.argument()])
		}
		fmt.Fprintf(&b, " -d '%s'\n", quoteFish.Replace(o.doc))
	}
	return b.String()
}
