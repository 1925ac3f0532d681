"""The table of programs: what each does with files, texts and addresses. A new program is a row.

Sources are the manual pages of Debian 12 unless another is named; macOS pages are those of macOS 14.
"""

from __future__ import annotations

from quorum.domain.review.effects.network_programs import NETWORK_PROGRAMS
from quorum.domain.review.effects.program_effects import Input, Operand, ProgramEffects
from quorum.domain.review.effects.side_effect import DataKind

_O, _I, _D = Operand, Input, DataKind

PROGRAMS: tuple[ProgramEffects, ...] = (
    # ------------------------------------------------------------ contents of files come out
    ProgramEffects(
        names="cat rev comm zcat bzcat xzcat zless lz4cat ul tsort dos2unix unix2dos csvtool plutil pbcopy",
        source="coreutils(1) 9.1, gzip(1) 1.12",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="view vi vim nvim gvim mvim rvim nano pico emacs emacsclient ed ex",
        source="vim(1) 9.0, emacs(1) 28.2",
        values="-c -i -T --cmd -eval --eval --execute",
        shows="-S -u --rcfile -l --load -script --script",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="less more",
        source="less(1) 590",
        values="-b -h -j -p -P -t -x -y -z",
        writes="-o -O",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="bat batcat glow mdcat highlight pygmentize",
        source="bat(1) 0.22",
        values="-l -r -H --language --line-range --theme --style -O -S",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="tac nl",
        source="coreutils(1) 9.1",
        values="-s -b -d -f -h -i -l -v -w",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="head tail",
        source="coreutils(1) 9.1",
        values="-n -c -s --lines --bytes --pid",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="cut",
        source="coreutils(1) 9.1",
        values="-b -c -d -f --bytes --characters --delimiter --fields --output-delimiter",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="sort",
        source="coreutils(1) 9.1",
        values="-k -t -S -T --key --field-separator --parallel",
        shows="--files0-from --random-source",
        writes="-o --output",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="uniq",
        source="coreutils(1) 9.1",
        values="-f -s -w",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="shuf",
        source="coreutils(1) 9.1",
        values="-n -i --head-count --input-range",
        shows="--random-source",
        writes="-o --output",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="paste join",
        source="coreutils(1) 9.1",
        values="-d -1 -2 -a -e -j -o -t -v",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="fold fmt base64 base32 basenc",
        source="coreutils(1) 9.1",
        values="-w -g -p --width --wrap",
        operands=_O.SHOW,
    ),
    ProgramEffects(names="expand unexpand", source="coreutils(1) 9.1", values="-t --tabs", operands=_O.SHOW),
    ProgramEffects(names="pr", source="coreutils(1) 9.1", values="-l -h -w -o -N", operands=_O.SHOW),
    ProgramEffects(
        names="column",
        source="column(1) 2.38",
        values="-s -o -c -N -H -R --separator --output-separator",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="strings xxd",
        source="xxd(1) 9.0, strings(1) 2.40",
        values="-n -e -c -g -l -o -s -T",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="od",
        source="coreutils(1) 9.1",
        values="-A -j -N -S -t",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="hexdump hd",
        source="hexdump(1) 2.38",
        values="-e -n -s",
        shows="-f",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="diff sdiff vimdiff cmp colordiff zdiff",
        source="diff(1) 3.8, sdiff(1) 3.8",
        writes="-o --output",
        values="-U -C -W -x -I -F -i --unified --context --exclude",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="iconv recode pandoc pdftotext",
        source="iconv(1) 2.36",
        values="-f -t --from-code --to-code",
        writes="-o --output",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names=(
            "bc dc look csvlook xclip xsel uuencode msgcat antiword catdoc w3m eqn troff nroff groff soelim "
            "ansi2html genisoimage"
        ),
        source="groff(1) 1.22",
        writes="-o --output",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="grep egrep fgrep rg ag ack zgrep pcregrep ugrep",
        source="grep(1) 3.8, rg(1) 13",
        values="-m -A -B -C -g -t -e --include --exclude --regexp",
        shows="-f --file",
        first=1,
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="sed gsed awk gawk mawk nawk jq yq gojq xq tomlq dasel xmllint xmlstarlet perl ruby mlr csvcut",
        source="sed(1) 4.8, gawk(1) 5.2, jq(1) 1.6",
        values="-F -v -e --expression",
        shows="-f --file --rawfile --slurpfile",
        named="--arg --argjson --rawfile --slurpfile",
        first=1,
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="tr pv mbuffer buffer sponge unbuffer col colrm tsort numfmt",
        source="coreutils(1) 9.1",
        first=2,
        operands=_O.TEXT,
    ),
    ProgramEffects(names="source .", source="bash(1) 5.2", operands=_O.RUN, is_quiet=True),
    ProgramEffects(names="mapfile readarray read", source="bash(1) 5.2", is_quiet=True),
    ProgramEffects(names="dd", source="dd(1) 9.1"),
    ProgramEffects(names="echo printf", source="bash(1) 5.2", operands=_O.TEXT),
    ProgramEffects(
        names="xargs parallel",
        source="xargs(1) 4.9, parallel(1) 20221122",
        values="-I -n -P -L -d -s -E -j --jobs --max-args --max-procs",
        shows="-a --arg-file",
        operands=_O.TEXT,
    ),
    ProgramEffects(names="git", words="show", source="git(1) 2.39", gives=_D.FILE),
    ProgramEffects(names="git", words="config", source="git(1) 2.39", gives=_D.FILE),
    ProgramEffects(names="git", words="diff", source="git(1) 2.39", gives=_D.FILE),
    ProgramEffects(names="git", words="log", source="git(1) 2.39", gives=_D.FILE),
    ProgramEffects(
        names="git",
        words="rm|mv|status|check-ignore|ls-files|update-index|switch|branch|worktree|init|restore",
        source="git(1) 2.39",
        is_quiet=True,
    ),
    ProgramEffects(names="git", words="bundle create", source="git(1) 2.39", gives=_D.FILE),
    ProgramEffects(
        names="git",
        words="archive",
        source="git(1) 2.39",
        shows="--add-file",
        writes="-o --output",
        gives=_D.FILE,
    ),
    # ------------------------------------------------------------ archives and encodings
    ProgramEffects(
        names="tar bsdtar gtar star",
        source="tar(1) 1.34",
        values="-C --directory --exclude -X -I --transform --owner --group --files-from -T -f --file",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="zip 7z 7za 7zr rar arj lha",
        source="zip(1) 3.0, 7z(1) 16.02",
        values="-x -i -P -b -t -p",
        operands=_O.SHOW,
    ),
    ProgramEffects(names="cpio pax shar", source="cpio(1) 2.13", shows="-F -I", writes="-O", operands=_O.SHOW),
    ProgramEffects(names="ar", source="ar(1) 2.40"),
    ProgramEffects(
        names="split csplit",
        source="split(1) 9.1, csplit(1) 9.1",
        values="-b -l -n -a -f --prefix --digits --suffix-length --bytes --lines --number",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="gzip bzip2 xz zstd lz4 lzma pigz pbzip2 brotli compress gunzip unxz bunzip2 unzstd",
        source="gzip(1) 1.12",
        values="-S --suffix",
        writes="-o --output",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="openssl",
        source="openssl(1) 3.0",
        words="enc",
        first=1,
        values="-pass -k -K -iv -md -iter",
        shows="-in -kfile",
        writes="-out",
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="openssl",
        source="openssl(1) 3.0",
        words="base64",
        shows="-in",
        writes="-out",
        first=1,
        operands=_O.SHOW,
    ),
    ProgramEffects(
        names="openssl",
        source="openssl(1) 3.0",
        words="rsa",
        values="-passin -passout",
        shows="-in",
        writes="-out",
    ),
    ProgramEffects(
        names="openssl",
        source="openssl(1) 3.0",
        words="pkey",
        values="-passin -passout",
        shows="-in",
        writes="-out",
    ),
    ProgramEffects(
        names="openssl",
        source="openssl(1) 3.0",
        words="pkcs12",
        values="-passin -passout",
        shows="-in -inkey",
        writes="-out",
    ),
    ProgramEffects(
        names="openssl",
        source="openssl(1) 3.0",
        words="s_client",
        values="-servername -CAfile -cert -key -proxy",
        operands=_O.TEXT,
        hosts="-connect",
        gives=_D.FETCHED,
        input=_I.SEND,
    ),
    ProgramEffects(
        names="openssl",
        source="openssl-dgst(1) 3.0",
        words="dgst|sha256|sha512|sha1|md5",
        values="-sign -verify -hmac -signature -prverify -passin",
        writes="-out",
        first=1,
        operands=_O.READ,
        is_quiet=True,
    ),
    ProgramEffects(
        names="openssl", source="openssl(1) 3.0", values="-in -key", writes="-out -keyout", is_quiet=True
    ),
    ProgramEffects(
        names="gpg gpg2 age rage ccrypt mcrypt ccencrypt sops ansible-vault",
        source="gpg(1) 2.2",
        values="-r -u --passphrase --recipient --cipher-algo --batch-size -i",
        writes="-o --output",
        operands=_O.SHOW,
    ),
    # ------------------------------------------------------------ nothing of a file comes out
    ProgramEffects(
        names="wc file sha256sum sha1sum sha512sum sha224sum sha384sum md5sum md5 cksum shasum b2sum sum",
        source="coreutils(1) 9.1",
        operands=_O.READ,
        is_quiet=True,
    ),
    ProgramEffects(
        names="find gfind bfs",
        source="find(1) 4.9",
        writes="-fprint -fprint0 -fprintf -fls",
        is_quiet=True,
    ),
    ProgramEffects(
        names="touch truncate fallocate",
        source="coreutils(1) 9.1, fallocate(1) 2.38",
        values="-d -r -t -s -l -o --size --date --reference --length --offset",
        operands=_O.WRITE,
        is_quiet=True,
    ),
    ProgramEffects(
        names=(
            "stat test [ [[ "
            "ls ll dir vdir exa eza lsd du df tree chmod chown chgrp chattr lsattr getfacl setfacl "
            "ssh-add ssh-agent mkdir rmdir rm rmtree unlink shred basename "
            "dirname realpath readlink fd fdfind locate mlocate plocate mdfind which whereis "
            "type command timeout gtimeout nice ionice nohup setsid stdbuf chrt taskset time "
            "true false sleep wait seq expr date cal kill pkill exit return shift set shopt "
            "let umask ulimit cd pushd popd pwd dirs xattr restorecon getfattr "
            "pytest tox make cmake ninja mvn gradle ant npm pnpm yarn bun cargo go pip pip3 "
            "docker podman kubectl helm terraform docker-compose "
            "install-info ldconfig visudo sudo gofmt black ruff isort mypy eslint prettier tsc "
            "lsof fuser mktemp export declare local typeset readonly alias unset env trap exec"
        ),
        source="coreutils(1) 9.1, findutils 4.9",
        operands=_O.USE,
        is_quiet=True,
    ),
    ProgramEffects(
        names="ssh-keygen",
        source="ssh-keygen(1) 9.2",
        words="-y|-yf|-l|-lf|-lvf|-lv|-B|-e|-i|-F|-L|-Q|-r",
        values="-f -t -E -F -m -r -P",
        is_quiet=True,
    ),
    ProgramEffects(
        names="ssh-keygen",
        source="ssh-keygen(1) 9.2",
        values="-t -b -C -N -P -a -m -O -E -I -n -V -z -D -w -Z -Y -s -R",
        writes="-f",
        is_quiet=True,
    ),
    ProgramEffects(
        names="mkcert",
        source="mkcert 1.4",
        writes="-cert-file -key-file -p12-file",
        values="-csr",
        is_quiet=True,
    ),
    ProgramEffects(
        names="step",
        words="certificate create|ca init|ca certificate|certificate sign",
        source="step 0.25",
        operands=_O.USE,
        is_quiet=True,
    ),
    ProgramEffects(
        names="keytool jarsigner apksigner codesign signtool osslsigncode rpmsign debsign minisign cosign",
        source="keytool(1) 17, apksigner 0.9, signtool 10",
        values=(
            "-keystore --ks -storepass -keypass --ks-pass --key-pass -alias --ks-key-alias -pkcs12 -key --key "
            "--cert -certs -f /f /p -s --sign -destkeystore -srckeystore"
        ),
        operands=_O.USE,
        is_quiet=True,
    ),
    ProgramEffects(
        names="arduino-cli ampy mpremote avrdude esptool esptool.py st-flash picotool bossac teensy_loader_cli",
        source="arduino-cli 0.35, mpremote 1.22: boards at a port of this machine",
        operands=_O.USE,
        is_quiet=True,
    ),
    ProgramEffects(
        names="gcc g++ cc c++ clang clang++ ld rustc tcc",
        source="gcc(1) 12.2, rustc(1) 1.63",
        values="-I -L -D -l -x -MT -MQ -include -isystem --edition --crate-type --target -C",
        writes="-o -MF",
        operands=_O.SHOW,
        is_quiet=True,
    ),
    ProgramEffects(
        names="javac kotlinc scalac groovyc",
        source="javac(1) 17",
        values="-cp -classpath --class-path -source -target --release -sourcepath --module-path -encoding",
        writes="-d",
        operands=_O.READ,
        is_quiet=True,
    ),
    ProgramEffects(
        names="go",
        words="build",
        source="go 1.19",
        values="-ldflags -gcflags -tags -p",
        writes="-o",
        is_quiet=True,
    ),
    # ------------------------------------------------------------ files are written
    ProgramEffects(
        names="cp mv install ln ditto gcp gmv pcp link",
        source="cp(1) 9.1",
        values="-m -o -g -S -t --mode --owner --group --target-directory",
        writes="",
        operands=_O.COPY,
    ),
    ProgramEffects(names="tee", source="tee(1) 9.1", operands=_O.WRITE),
    ProgramEffects(
        names="patch",
        source="patch(1) 2.7",
        values="-p -d -D",
        shows="-i --input",
        writes="-o --output",
        operands=_O.WRITE,
        is_quiet=True,
    ),
    ProgramEffects(names="unzip", source="unzip(1) 6.0", values="-x -P", writes="-d", is_quiet=True),
    # ------------------------------------------------------------ what the machine is
    ProgramEffects(
        names=(
            "hostname whoami id groups w who last lastlog users ps top htop pstree ifconfig ip "
            "netstat ss arp route lscpu lsblk lspci lsusb dmidecode lshw dmesg uptime free vmstat "
            "mount "
            "sw_vers system_profiler ioreg scutil networksetup dscl dscacheutil getent finger "
            "crontab launchctl systemctl journalctl sysctl dpkg rpm apt brew snap loginctl "
            "timedatectl nmcli iwconfig "
            "iw printenv hostnamectl logname tty blkid fdisk kextstat lsmod pmset nvram profiles "
            "defaults osquery osqueryi getconf locale gsettings xrandr wmic systeminfo ipconfig "
            "tasklist"
        ),
        source="procps 4.0, util-linux 2.38, macOS",
        gives=_D.MACHINE,
    ),
    ProgramEffects(names="history fc pm2", source="bash(1) 5.2", gives=_D.MACHINE),
    ProgramEffects(
        names="docker podman", words="inspect|container inspect", source="docker(1) 20.10", gives=_D.MACHINE
    ),
    *NETWORK_PROGRAMS,
    # ------------------------------------------------------------ files that are run
    ProgramEffects(
        names="java jbang wasmtime wasmer",
        source="java(1) 17, wasmtime 14",
        values="-cp -classpath --class-path",
        shows="-jar",
        operands=_O.RUN,
    ),
    ProgramEffects(
        names="crystal nim dart gforth gosh chez scheme mit-scheme chicken-csi csi odin gleam vala moon fennel",
        source="crystal(1) 1.6, nim 1.6, dart 3.0",
        values="-d --define -o --output --out",
        operands=_O.RUN,
    ),
    ProgramEffects(
        names="ansible-playbook",
        source="ansible-playbook(1) 2.14",
        values=(
            "-i --inventory -e --extra-vars -l --limit -u --user -t --tags --skip-tags -f --forks "
            "--private-key --key-file --vault-password-file --vault-id --start-at-task -c --connection "
            "-T --timeout"
        ),
        operands=_O.RUN,
        input=_I.RUN,
    ),
    ProgramEffects(
        names=(
            "node nodejs deno bun php lua luajit tclsh Rscript groovy scala julia elixir guile "
            "osascript wine mono dotnet pwsh expect wish jshell erl escript iex Invoke-Expression"
        ),
        source="node(1) 18",
        values="-r --require",
        operands=_O.RUN,
        input=_I.RUN,
    ),
    ProgramEffects(
        names="python pypy ipython", source="python3(1) 3.11", values="-W -X", operands=_O.RUN, input=_I.RUN
    ),
    ProgramEffects(
        names="sh bash dash zsh ksh ash fish csh tcsh mksh pdksh rbash",
        source="bash(1) 5.2",
        values="-o -O --rcfile --init-file",
        operands=_O.RUN,
        input=_I.RUN,
    ),
    ProgramEffects(
        names="ansible-playbook nix-shell nix-build",
        source="ansible-playbook(1) 2.14, nix 2.11",
        values="-i --inventory -l --limit -e --extra-vars -t --tags -u -p --packages -A --attr",
        operands=_O.RUN,
        input=_I.RUN,
    ),
    ProgramEffects(
        names="installer", source="installer(8) macOS", values="-target -tgt", shows="-pkg", operands=_O.RUN
    ),
    ProgramEffects(
        names="open xdg-open gio insmod kextload rundll32 regsvr32 mshta msiexec",
        source="open(1) macOS, insmod(8)",
        values="-a -b",
        operands=_O.RUN,
    ),
    ProgramEffects(
        names=(
            "nix helm ansible-pull dpkg rpm apt apt-get yum dnf zypper apk pacman snap flatpak brew gem npm "
            "pnpm yarn vagrant ansible-galaxy luarocks conda mamba micromamba "
            "pip pip3 pipx uv cargo gdebi go deno bun crystal zig kubectl oc docker podman"
        ),
        words=(
            "-i|--install|-U|-ivh|-Uvh|install|localinstall|run|add|i|apply|create|load|pip install|box add|"
            "tap|collection install|bundle|env create|env update|build|buildx build|compose|play kube"
        ),
        source="dpkg(1) 1.21, rpm(8) 4.18, apt(8) 2.6, pip 23, npm 9, go 1.19, kubectl 1.26",
        values=(
            "-r --requirement -c -i --index-url -t --target --root -f --file --server --tag "
            "--build-arg --name -n"
        ),
        operands=_O.RUN,
        input=_I.RUN,
    ),
)
