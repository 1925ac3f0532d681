# Completion of quorum in bash 3.2 and later: eval "$(quorum completion bash)"

_quorum_complete() {
    local program="${1/#\~/$HOME}" kind="" word="" meaning="" tab=$'\t'
    COMPREPLY=()
    while IFS= read -r word; do
        if [[ -z $kind ]]; then
            kind=$word
            continue
        fi
        meaning=""
        [[ $word == *"$tab"* ]] && meaning=${word#*"$tab"}
        word=${word%%"$tab"*}
        # What a word means is shown in the list of a second Tab, which inserts nothing.
        [[ ${COMP_TYPE-} == 63 && -n $meaning ]] && word="$word  ($meaning)"
        COMPREPLY+=("$word")
    done < <("$program" completion --line="${COMP_LINE:0:COMP_POINT}" --wordbreaks="$COMP_WORDBREAKS" bash 2>/dev/null </dev/null)
    [[ ${#COMPREPLY[@]} == 1 ]] && COMPREPLY[0]=${COMPREPLY[0]%%  (*}
    case $kind in
        files) compopt -o default 2>/dev/null ;;
        folders) compopt -o dirnames 2>/dev/null ;;
    esac
}

complete -F _quorum_complete quorum
