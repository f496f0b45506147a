# SPDX-License-Identifier: Apache-2.0
# Completion of sonde for fish. What may be completed is sonde's own answer: sonde --complete WORD...

function __sonde_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for said in (command $words[1] --complete $words[2..-1] "$word" 2>/dev/null)
        switch $said
            case ':files'
                __fish_complete_path "$word"
            case ':programs'
                __fish_complete_command
            case ':command *'
                set -l first (math (string replace ':command ' '' -- $said) + 2)
                complete -C (string join ' ' -- (string escape -- $words[$first..-1]) "$word")
            case '*'
                echo $said
        end
    end
end
complete -c sonde -f -a '(__sonde_complete)'
