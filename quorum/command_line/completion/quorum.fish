# Completion of quorum in fish: quorum completion fish > ~/.config/fish/completions/quorum.fish

function __quorum_complete
    set -l typed (commandline -cp | string collect)
    set -l lines (quorum completion --line="$typed" fish 2>/dev/null </dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path (commandline -ct)
        case folders
            __fish_complete_directories (commandline -ct)
        case words
            printf '%s\n' $lines[2..-1]
    end
end

complete -c quorum -f -k -a '(__quorum_complete)'
