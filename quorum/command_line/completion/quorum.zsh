#compdef quorum
# Completion of quorum in zsh: eval "$(quorum completion zsh)" below compinit, or this file as _quorum on fpath.

_quorum() {
    local -a lines described
    local line kind
    lines=("${(@f)$("${(Q)words[1]/#\~/$HOME}" completion --line="${(j: :)words[1,CURRENT-1]} $PREFIX" zsh 2>/dev/null </dev/null)}")
    kind=$lines[1]
    case $kind in
        files) _files ;;
        folders) _files -/ ;;
        words)
            for line in "${(@)lines[2,-1]}"; do
                [[ -n $line ]] || continue
                described+=("${${line%%$'\t'*}//:/\\:}${${(M)line:#*$'\t'*}:+:${line#*$'\t'}}")
            done
            (( $#described )) && _describe -V 'quorum' described
            ;;
    esac
}

if [[ ${funcstack[1]-} == _quorum ]]; then
    _quorum "$@"
else
    compdef _quorum quorum
fi
