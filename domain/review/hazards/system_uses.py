"""Uses of programs whose effect follows from their words: rights, protections, records, captures, attacks.

A row says what the program does to the machine or to others, from its manual page (Debian 12, macOS 14, the
cloud programs as of 2023), and which of its words only show something. A new program is a row.
"""

from __future__ import annotations

from quorum.domain.review.hazards.invocation import HarmfulUse

_SHOWS = r"--help|--version|-h|-V|help|version|show|list|status|info|ls|get|--list|--show"
_RIGHTS = "gives somebody rights"
_SETTING = "changes how the machine works"
_TRUST = "changes whom the machine trusts"
_ROUTE = "changes where the traffic of the machine goes"
_OFF = "switches a protection of the system off"
_RECORD = "takes a record of the machine away"
_DEBUGS = "lets other machines run code here"
_LATER = "lets something run on its own"
_CAPTURE = "captures what somebody types, shows or says"
_MEMORY = "reads or changes another process"
_ATTACK = "attacks a machine, or looks for its weak places"
_CRACK = "finds out passwords"
_PUBLIC = "shows something to everybody"

SYSTEM_USES: tuple[HarmfulUse, ...] = (
    # ------------------------------------------------------------ rights
    HarmfulUse(
        "chown|chgrp|chmod|setfacl",
        r"/(etc|usr|bin|sbin|boot|root(?!/\.ssh/)|var|lib)(/.*)?",
        "changes the rights of files of the system",
        "-R|--recursive|.*/(www|tmp)(/.*)?",
    ),
    HarmfulUse(
        "chown|chgrp|chmod|setfacl",
        r"~?/?.*\.ssh/.*",
        "changes who may use keys",
        r"-R|--recursive|0?[467]00|go-rwx|og-rwx|u=rwx?,go=",
    ),
    HarmfulUse("setfacl", r"[ugo]:\w+:[r-]*w.*|.*nobody.*|.*o::?[rwx]+", _RIGHTS),
    HarmfulUse(
        "nsenter|unshare|capsh|setpriv|runcon",
        "",
        "leaves the limits that it runs in",
        r"--help|--version|--print|--user|-n|--net",
    ),
    HarmfulUse(
        "newgrp|sg|newuidmap|newgidmap|sudoedit|run0|systemd-nspawn", "", "acts as another user", _SHOWS
    ),
    HarmfulUse(
        (
            "chsh|chfn|usermod|pw|newusers|groupmems|chage|pwck|grpck|sysadminctl|dseditgroup|"
            "lusermod|luseradd|pwpolicy|createhomedir"
        ),
        "",
        "changes who may use the machine",
        rf"{_SHOWS}|-l|usershow|groupshow|-r",
    ),
    HarmfulUse("dscl", r"-?(create|append|passwd|delete|change|merge)", "changes who may use the machine"),
    HarmfulUse("net|cmdkey", r"(?i)user|localgroup|/add", "changes who may use the machine"),
    HarmfulUse("openssl passwd", "", "makes a password for an account", "--help"),
    HarmfulUse("kubectl|oc create", "clusterrolebinding|rolebinding|clusterrole|token|serviceaccount", _RIGHTS),
    HarmfulUse("oc adm policy", "add-.*", _RIGHTS),
    HarmfulUse(
        "kubectl",
        "certificate|impersonate|--as=.*|proxy|debug|cordon|taint|uncordon",
        "reaches beyond the rights of one user",
    ),
    HarmfulUse(
        "kubectl|oc run", r"--overrides(=.*)?|--privileged(=true)?", "gives a container rights over the machine"
    ),
    HarmfulUse(
        "docker|podman|nerdctl",
        (
            r"--(net|network|ipc|uts|userns)=host|--security-opt=?.*unconfined|.*unconfined|"
            r"label=disable|--device(=.*)?|(--volume=)?/(etc|root|home|var|usr|proc|sys|dev|"
            r"boot)?:.*|.*source=/(,.*|etc.*|root.*)?|--volumes-from|apparmor.*"
        ),
        "gives a container rights over the machine",
    ),
    HarmfulUse(
        "aws iam", r"(attach|put|create|add|update|set|upload|enable|remove|detach|deactivate)-.*", _RIGHTS
    ),
    HarmfulUse(
        "aws sts|organizations|sso-admin|kms",
        r"assume-role.*|leave-.*|create-.*|attach-.*|schedule-key-deletion|disable-key|put-key-policy",
        _RIGHTS,
    ),
    HarmfulUse(
        "gcloud",
        r"(add|set)-iam-policy.*|keys|service-accounts|roles",
        _RIGHTS,
        "list|describe|get-iam-policy|activate-service-account",
    ),
    HarmfulUse("gsutil", r"iam|acl|defacl", _PUBLIC, "get"),
    HarmfulUse("az", r"assignment|ad|role|create-for-rbac|reset-credentials", _RIGHTS, "list|show"),
    HarmfulUse(
        "gh api",
        r"(-X|--method=?)?(PUT|DELETE|PATCH)|.*(collaborators|keys|hooks|invitations|teams|permissions).*",
        "changes what others see, or who may do it",
    ),
    HarmfulUse("gh", r"ssh-key|gpg-key|deploy-key", _RIGHTS, "list"),
    HarmfulUse("gh repo edit|create|fork", r"--visibility=public|public|--public", _PUBLIC, guard="network"),
    HarmfulUse("glab|hub", r"delete|--public", "changes what others see"),
    # ------------------------------------------------------------ protections and records
    HarmfulUse(
        "iptables|ip6tables|nft|ufw|firewall-cmd|pfctl|ebtables|socketfilterfw|esxcli|ipfw",
        "",
        "changes the firewall",
        rf"{_SHOWS}|-L|-S|-n|--list.*|--get.*|verbose|monitor|-s|-sr|--state|--query.*|-nvL|-Ln?v?|list-.*",
    ),
    HarmfulUse(
        (
            "setsebool|semanage|semodule|semodule|chcon|aa-remove-unknown|aa-disable|aa-complain|"
            "tccutil|fdesetup|spctl|csrutil|nvram|bputil|tmutil|kextcache|profiles|"
            "systemsetup"
        ),
        "",
        _OFF,
        rf"{_SHOWS}|-l|isactive|destinationinfo|listbackups|latestbackup|--status|-p|compare|-get.*",
    ),
    HarmfulUse("xattr", r"-[a-zA-Z]*[dcrw][a-zA-Z]*", _OFF),
    HarmfulUse("set", r"\+o|-o", "switches the history of commands off", "(?!history$).*"),
    HarmfulUse(
        "shopt",
        "history|cmdhist|histappend|-ou?",
        "switches the history of commands off",
        "expand_aliases|globstar|extglob|nullglob|dotglob|errexit|pipefail|nounset",
    ),
    HarmfulUse("fc|histdb", "-p|-W|-R", "changes the history of commands"),
    HarmfulUse("dmesg", r"-C|-c|--clear|--read-clear|-D|--console-off", _RECORD),
    HarmfulUse(
        (
            "auditctl|augenrules|auditpol|logrotate|wevtutil|utmpdump|"
            "faillock|pam_tally2|fwknop|syslogd|rsyslogd"
        ),
        "",
        "changes what the system records",
        rf"{_SHOWS}|-l|-s|-d|--debug|qe|gl|el",
    ),
    HarmfulUse(
        "apt|apt-get|yum|dnf|rpm|dpkg|pacman|zypper|apk|brew|snap",
        (
            r".*(audit|syslog|fail2ban|apparmor|selinux|falcon|crowdstrike|clamav|ossec|wazuh|"
            r"osquery|defender|mdatp|sentinel|firewall|ufw|aide|tripwire|sysmon|cbagent|sophos|"
            r"mcafee).*"
        ),
        _OFF,
        "search|show|info|list|install|policy|-q.*|-l.*",
    ),
    HarmfulUse(
        "apt|apt-get|yum|dnf|zypper|pacman|apk|aptitude|dpkg|rpm",
        r"remove|purge|autoremove|erase|-R.*|-r|-P|-e|--purge|--remove|--erase|del",
        "removes programs of the system",
        "-s|--simulate|--dry-run|--assumeno",
    ),
    HarmfulUse(
        "apt|apt-get|yum|dnf|zypper|rpm|pacman|apk",
        (
            r"--allow-unauthenticated|--nogpgcheck|--no-gpg-checks|--force-yes|--nosignature|"
            r"--allow-untrusted|--no-check-certificate|--nodigest|.*AllowInsecureRepositories.*|"
            r".*AllowUnauthenticated.*"
        ),
        _TRUST,
        guard="network",
    ),
    HarmfulUse(
        "systemctl|service|launchctl|rc-service|sv|initctl|sc",
        (
            r"(?i)stop|disable|mask|kill|bootout|remove|unload|delete|onestop|isolate|edit|"
            r"set-property|set-environment|set-default|revert"
        ),
        "stops or changes services",
    ),
    HarmfulUse(
        (
            "mdatp|falconctl|falcon-sensor|sentinelctl|cbagentd|osqueryctl|clamd|freshclam|auditd|"
            "sfctl|savdctl|esets|jamf|mobileconfig|ossec-control|wazuh-control|twadmin|snort|zeek|"
            "suricata"
        ),
        "",
        _OFF,
        _SHOWS,
    ),
    HarmfulUse(
        "git config",
        (
            r"(?i)(http\.)?sslverify(=.*)?|http\..*\.?(proxy|sslverify|extraheader)|https?\.proxy|"
            r"url\..*\.(pushinsteadof|insteadof)|transfer\.fsckobjects|safe\.directory|"
            r"core\.(gitproxy|askpass|attributesfile|excludesfile|alternaterefscommand|worktree)|"
            r"protocol\..*allow(=.*)?|gpg\..*program|diff\..*|filter\..*|merge\..*driver|"
            r"uploadpack\.packobjectshook|include(if)?\..*path|remote\..*\.(url|pushurl|uploadpack|"
            r"receivepack|proxy)|submodule\..*|user\.signingkey"
        ),
        "changes whom git trusts, or what it runs",
        (
            r"--get.*|--list|-l|--unset.*|diff\.(tool|algorithm|renames|colormoved.*)|merge\.(tool|"
            r"conflictstyle|ff)"
        ),
        fewest=2,
    ),
    HarmfulUse(
        "git",
        r"http\.sslVerify=(false|0)|.*GIT_SSL_NO_VERIFY.*|protocol\.ext\.allow=.*|ext::.*",
        "changes whom git trusts, or what it runs",
    ),
    HarmfulUse("git", "--no-verify|-n.*-no-verify", "leaves out the checks of the repository", "push|-n"),
    # ------------------------------------------------------------ how the machine works
    HarmfulUse(
        "hostnamectl|timedatectl|localectl", r"set-.*|hostname|disable|chassis|deployment", _SETTING, _SHOWS
    ),
    HarmfulUse("date", r"-s|--set(=.*)?|-[a-z]*s|[0-9]{8,}(\.\d\d)?", _SETTING),
    HarmfulUse("hwclock|ntpdate|chronyc|sntp", r"-w|-s|--set|--systohc|--hctosys|-b|makestep|-u|-S", _SETTING),
    HarmfulUse(
        (
            "domainname|nisdomainname|scutil|systemsetup|pmset|bless|nvram|efibootmgr|grub-install|"
            "grub-mkconfig|update-grub|grubby|bootctl|kexec|dracut|mkinitcpio|update-initramfs|"
            "update-alternatives|ldconfig|depmod|dkms|sysrc|kldload|kmutil|tune2fs|resize2fs|"
            "e2fsck|fsck|xfs_repair|debugfs|hdparm|nvme|flashrom|setterm|loadkeys|visudo|vipw|vigr|"
            "authselect|pam-auth-update|dpkg-reconfigure|debconf-set-selections|cryptsetup|losetup|"
            "swapon|zramctl|prlimit|renice|tuned-adm|powerprofilesctl"
        ),
        "",
        _SETTING,
        rf"{_SHOWS}|--dry-run|luks(Dump|UUID)|isLuks|-g|-l|-p|-c|-n|--get(-selections)?|--display|--query|-d|-v|--dns|--proxy|--nwi|-a|-r|-f|-I|-i|-S",
    ),
    HarmfulUse(
        "mount|umount|fusermount|mount_nfs|mount_smbfs|hdiutil|sshfs|pivot_root|losetup|mount.cifs",
        ".+",
        "changes which file systems there are",
        rf"{_SHOWS}|-l|-t|imageinfo|-a?v",
    ),
    HarmfulUse(
        "umount", r"-[a-zA-Z]*[lfa][a-zA-Z]*|--lazy|--force|--all.*", "changes which file systems there are"
    ),
    HarmfulUse("xhost", r"\+.*", "lets others read the screen and type into it", guard="network"),
    HarmfulUse("ip", r"add|del|delete|set|replace|change|flush|append", _ROUTE, "-s|-br|-j"),
    HarmfulUse(
        (
            "route|ifconfig|brctl|vconfig|ethtool|iwconfig|iw|ifup|ifdown|dhclient|tc|bridge|wg|"
            "wg-quick|openvpn|tailscale|zerotier-cli|networksetup|nmcli|resolvectl|systemd-resolve|"
            "netplan|ipsec|ovs-vsctl|dnsmasq|hostapd|ipconfig|warp-cli"
        ),
        (
            r"add|del|delete|down|promisc|flush|set.*|-set.*|modify|mod|connection|con|--set.*|"
            r"apply|join|login|reset|default|--config|-s|-C|netem|hw|ether|mtu|ad-?hoc|connect|"
            r"qdisc|/flushdns|disconnect"
        ),
        _ROUTE,
        r"show|list|status|-get.*|-list.*|help|get|hardware|con(nection)? show",
    ),
    HarmfulUse(
        "dscacheutil|discoveryutil|rndc|nscd|killall",
        r"-flushcache|flush.*|-i|mDNSResponder",
        "empties the record of names and addresses",
    ),
    HarmfulUse("arp|arping", r"-s|-d|-S|-U|-A", _ROUTE),
    HarmfulUse(
        "update-ca-certificates|update-ca-trust|trust|certutil|mkcert|keytool|c_rehash|dpkg-sig",
        r"|add|anchor|-A|-install|-import.*|extract|--fresh|enable|-M|-importcert",
        _TRUST,
        "list|dump|-L|-list|-CAROOT|--help|--version|check|-d",
        guard="network",
    ),
    HarmfulUse("update-ca-certificates|update-ca-trust", "", _TRUST, "--help|check", guard="network"),
    HarmfulUse(
        "security",
        (
            r"add-trusted-cert|authorizationdb|set-key-partition-list|unlock-keychain|"
            r"set-keychain-.*|add-.*-password|delete-.*|import|create-keychain|trust-settings-import"
        ),
        _TRUST,
        guard="network",
    ),
    HarmfulUse(
        (
            "npm|pnpm|yarn|pip|pip3|gem|cargo|composer|go|bun|nuget|conda|mvn|poetry|bundle|uv "
            "config|env|source|sources|channel|repo|set"
        ),
        (
            r".*(registry|index-url|extra-index-url|trusted-host|proxy|strict-ssl|cafile|mirror|"
            r"repositories|GOPROXY|GONOSUMDB|GONOSUMCHECK|GOFLAGS|GOINSECURE|GONOSUMCHECK|GOSUMDB|"
            r"ignore-scripts|script-shell|node-options|secure-http|add).*"
        ),
        "takes packages from elsewhere, or leaves out their checks",
        "list|get|--get|ls|-l",
        guard="network",
    ),
    HarmfulUse(
        "pip|pip3|uv|npm|pnpm|yarn|gem|composer|conda|bundle",
        (
            r"--(extra-)?index-url(=.*)?|--trusted-host(=.*)?|--registry(=.*)?|--source(=.*)?|"
            r"-f=?https?.*|--find-links=?http.*|--no-verify|--no-secure-http|--unsafe-perm.*|"
            r"--insecure.*|--allow-insecure.*|--disable-tls.*"
        ),
        "takes packages from elsewhere, or leaves out their checks",
        guard="network",
    ),
    HarmfulUse(
        "conda|mamba|micromamba|helm|luarocks|cpan|cpanm|opam|nix|nix-channel",
        r"(-c=?|--channel=|--mirror=|--server=)?http://(?!localhost|127\.).*",
        "takes packages from elsewhere, or leaves out their checks",
        guard="network",
    ),
    HarmfulUse(
        "npm pkg set", r"scripts\.(pre|post)?(install|prepare|publish|pack).*", _LATER, guard="persistence"
    ),
    HarmfulUse(
        "docker|podman",
        r"--insecure-registry.*|--tls-verify=false|--disable-content-trust",
        _TRUST,
        guard="network",
    ),
    HarmfulUse(
        "ssh|scp|sftp|rsync",
        (
            r"-?o?\s*(StrictHostKeyChecking[= ](no|off)|UserKnownHostsFile[= ]?/dev/null|"
            r"PermitLocalCommand[= ]yes|ProxyCommand.*)"
        ),
        "does not check which machine answers",
        guard="network",
    ),
    # ------------------------------------------------------------ what runs later
    HarmfulUse(
        "defaults write",
        (
            r".*(loginwindow|LoginHook|LogoutHook|LaunchServices|LSQuarantine|alf|screensaver|"
            r"SoftwareUpdate|TimeMachine|CrashReporter|AppleFileServer|RemoteManagement|ARDAgent|"
            r"autologin\w*|DisableLibraryValidation|/Library/.*|com\.apple\.(dock|finder|Terminal|"
            r"security.*)).*"
        ),
        _LATER,
        guard="persistence",
    ),
    HarmfulUse(
        "PlistBuddy|plutil|pluginkit|sfltool|loginitems|kickstart|systemextensionsctl|emond",
        (
            r".*(Add|Set|-insert|-replace|-create|-e|-a|RunAtLoad|ProgramArguments|-activate|use|"
            r"resetbtm|).*"
        ),
        _LATER,
        guard="persistence",
    ),
    HarmfulUse("kickstart", "", "lets another machine in", guard="network"),
    HarmfulUse(
        "systemsetup", "-setremotelogin|-setremoteappleevents", "lets another machine in", guard="network"
    ),
    HarmfulUse(
        "systemctl|rc-update|update-rc.d|insserv|chkconfig|sysv-rc-conf|loginctl|svcadm|sysrc|machinectl",
        r"enable|add|reenable|link|preset|on|defaults|enable-linger|import-environment|shell",
        _LATER,
        guard="persistence",
    ),
    HarmfulUse(
        ("atrun|anacron|fcron|batch|cron|crond|incrontab|whenever|systemd-tmpfiles|dbus-send|busctl|gdbus"),
        r"|.+",
        _LATER,
        rf"{_SHOWS}|-l|logs|describe|monitor|introspect|tree|--user|--print-reply|call",
        guard="persistence",
    ),
    HarmfulUse(
        "pm2|supervisorctl|watchman|monit",
        "start|startOrRestart|startOrReload|startup|save|resurrect|deploy|install|update|add|reread|trigger|trigger-.*|-j",
        _LATER,
        "--help",
        guard="persistence",
    ),
    HarmfulUse("tmux", "set-hook", "has it run something later", guard="persistence"),
    HarmfulUse("pm2|supervisorctl|monit", "stop|kill|shutdown|delete|remove|quit", "stops services", "--help"),
    HarmfulUse(
        "code|codium|cursor|code-insiders|subl|google-chrome|chromium|firefox|brave-browser",
        (
            r"--install-extension.*|--load-extension.*|--remote-debugging-port.*|--user-data-dir.*|"
            r"--no-sandbox|--disable-web-security|--proxy-server.*|--ignore-certificate-errors.*|"
            r"tunnel"
        ),
        "adds or loosens something that the program runs each time",
        guard="persistence",
    ),
    HarmfulUse(
        "gsettings|dconf|xdg-mime|xdg-settings|gconftool-2|kwriteconfig5|kwriteconfig",
        r"set|write|load|default|reset|.*autostart.*|.*--key.*",
        "changes what the desktop runs",
        guard="persistence",
    ),
    HarmfulUse(
        "schtasks|reg|sc|wmic|bitsadmin|new-service|register-scheduledtask|set-itemproperty",
        r"(?i)/?create|add|/transfer|call|.*currentversion\\+run.*",
        _LATER,
        guard="persistence",
    ),
    # ------------------------------------------------------------ captures, memory, passwords
    HarmfulUse(
        (
            "import|maim|flameshot|spectacle|xwd|scrot|ksnapshot|fbgrab|fbcat|shotgun|hyprshot|"
            "grimshot|screencapture|recordmydesktop|wf-recorder|vokoscreen|peek|"
            "imagesnap|fswebcam|streamer|arecord|parecord|gst-launch-1.0|logkeys|"
            "keysniffer|xspy|xev|xinput|evtest|libinput|showkey|script|ttyrec|ttyd|"
            "wl-paste|pbpaste|xclip|xsel"
        ),
        (
            r"-window|root|-o|--output|-l|--start|test.*|debug-events|record|/dev/.*|.*\.(png|jpe?g|"
            r"mp4|wav|avi|webm)|-d|-k|-f|-D"
        ),
        _CAPTURE,
        r"list|--list|-version|--version|--help|-i|-c|.*\.(mp3|flac|py|sh|txt)|-q.*|/dev/null|-e",
        guard="secret",
    ),
    HarmfulUse(
        "ffmpeg|avconv|vlc|cvlc",
        r"x11grab|avfoundation|gdigrab|alsa|pulse|v4l2|fbdev|kmsgrab|screen://.*|/dev/video\d+",
        _CAPTURE,
        guard="secret",
    ),
    HarmfulUse(
        (
            "tcpdump|tshark|dumpcap|ngrep|wireshark|ettercap|bettercap|dsniff|tcpflow|snoop|"
            "urlsnarf|mitmproxy|mitmdump|mitmweb|sslsplit|sslstrip|responder|airodump-ng|kismet|"
            "driftnet|filesnarf|mailsnarf|rpcapd|pktmon|nettl"
        ),
        "",
        "reads what others send",
        r"-D|--version|--help|-r|-h|--list-interfaces|-G",
        guard="secret",
    ),
    HarmfulUse(
        (
            "gdb|lldb|strace|ltrace|ptrace|dtrace|dtruss|frida|frida-trace|frida-ps|reptyr|"
            "bpftrace|sysdig|process_vm_readv|injectso|pyrasite|pyrasite-shell|"
            "jmap|jcmd|rr|truss|vmmap"
        ),
        r"-p|--pid(=.*)?|-p\d+|--attach.*|attach|-n|.*dump.*|-batch-attach|-w|-U",
        _MEMORY,
        "--version|--help|record|-V",
        guard="secret",
    ),
    HarmfulUse(
        (
            "gcore|procdump|memdump|lime|fmem|avml|linpmem|osxpmem|mimipenguin|laZagne|lazagne|"
            "lazagne.py|swap_digger|linikatz|mimikatz|pypykatz|procmem|"
            "crackmapexec|secretsdump|impacket-secretsdump|chntpw|samdump2|pwdump|gsecdump|"
            "keychaindump|chainbreaker|kerbrute|GetUserSPNs|GetNPUsers|"
            "rubeus|ticketer|bloodhound-python|sharphound"
        ),
        "",
        "reads credentials",
        _SHOWS,
        guard="secret",
    ),
    HarmfulUse(
        (
            "john|hashcat|hydra|medusa|ncrack|patator|crowbar|brutespray|crunch|cewl|fcrackzip|"
            "pdfcrack|rarcrack|aircrack-ng|reaver|bully|ophcrack|rcrack|rtgen|wfuzz|ffuf|"
            "gobuster|dirb|dirbuster|feroxbuster|kerberoast|sucrack|cupp|hashid|"
            "stegcracker|zip2john|ssh2john|gpg2john|office2john|"
            "keepass2john|pdf2john|unshadow|onesixtyone"
        ),
        "",
        _CRACK,
        rf"{_SHOWS}|--list=.*",
        guard="secret",
    ),
    HarmfulUse(
        (
            "ldapsearch|enum4linux|rpcclient|smbmap|snmpwalk|lookupsid|windapsearch|adidnsdump|"
            "ldapdomaindump|kinit|nxc|netexec|impacket-lookupsid|wbinfo"
        ),
        ".+",
        "asks another machine for its users",
        _SHOWS,
        guard="network",
    ),
    # ------------------------------------------------------------ other machines
    HarmfulUse(
        (
            "nmap|masscan|zmap|rustscan|unicornscan|fping|hping3|hping|nbtscan|arp-scan|"
            "netdiscover|naabu|nikto|sqlmap|wpscan|nuclei|openvas|msfconsole|msfvenom|msfdb|"
            "searchsploit|beef-xss|setoolkit|commix|xsser|arpspoof|dnsspoof|macof|yersinia|"
            "scapy|ettercap|slowloris|slowhttptest|t50|goldeneye|siege|loic|hoic|mdk3|mdk4|"
            "aireplay-ng|airmon-ng|wifite|impacket-\\w+|psexec.py|wmiexec.py|smbexec.py|evil-winrm|"
            "chisel|ligolo|metasploit|empire|sliver|sliver-server|havoc|merlin|"
            "poshc2|covenant|weevely|pupy|linpeas|linpeas.sh|linenum|LinEnum.sh|"
            "linux-exploit-suggester.sh|unix-privesc-check|pspy|pspy64|deepce|peirates|kube-hunter|"
            "pacu|cloudsploit|scoutsuite|amass|subfinder|theHarvester|recon-ng|dnsrecon|dnsenum|"
            "fierce|dmitry|traitor|pwnkit|crackmapexec"
        ),
        "",
        _ATTACK,
        r"--version|-V|--help|-h|-sL|--iflist|localhost|127\.0\.0\.1",
        guard="network",
    ),
    HarmfulUse(
        "ab|wrk|hey|siege|vegeta|bombardier|h2load|k6|locust|artillery|tsung|autocannon",
        r"(https?://)?(?!(localhost|127\.|0\.0\.0\.0|\[::1\]|\w+:\d+))[\w.-]+\.[a-z]{2,}(/.*)?(:\d+.*)?",
        "loads another machine",
        guard="network",
    ),
    HarmfulUse(
        "macchanger|spoof-mac|torify|tor|proxychains4?|anonsurf|torsocks|torbrowser-launcher",
        "",
        "hides where it connects from",
        _SHOWS,
        guard="network",
    ),
    HarmfulUse(
        (
            "vncserver|x11vnc|tightvncserver|vino-server|xrdp|sshd|dropbear|in.telnetd|telnetd|"
            "vsftpd|proftpd|pure-ftpd|tftpd|smbd|rpcbind|teamviewer|anydesk|rustdesk|tmate|upterm|"
            "gotty|wetty|shellinabox|shellinaboxd|ttyd|code-server|sshuttle|autossh|stunnel|"
            "stunnel4|ngrok|cloudflared|localtunnel|lt|bore|frpc|frps|chisel|ptunnel|dns2tcp|"
            "dnscat2|iodine|iodined|hans|gost|revsocks|rpivot|pagekite|telebit|"
            "inlets|zrok|pinggy|playit|screenconnect|splashtop|meshagent|dwagent|atera|tacticalrmm|"
            "localxpose|loclx|x2go|guacd"
        ),
        "",
        "lets another machine in",
        rf"{_SHOWS}|-t|-T|-kill|--kill",
        guard="network",
    ),
    HarmfulUse(
        "ssh",
        r"-[a-zA-Z]*[RDw]\S*|-L0\.0\.0\.0\S*|-o(Remote|Dynamic)Forward.*",
        "makes a way into or out of the network",
        "-V",
        guard="network",
    ),
    HarmfulUse(
        "nc|ncat|netcat|socat|telnet", r"\d{1,3}(\.\d{1,3}){3}/\d+|.*-proxy.*|\d+-\d+", _ATTACK, guard="network"
    ),
    HarmfulUse(
        "wall|write|mesg|zenity|kdialog",
        r"--password|.*password.*|--forms|-n",
        "asks somebody for a password, or talks to others",
        guard="secret",
    ),
    # ------------------------------------------------------------ all of the machine
    HarmfulUse(
        (
            "stress|stress-ng|xmrig|xmr-stak|minerd|cpuminer|ccminer|ethminer|"
            "nbminer|lolminer|phoenixminer|cgminer|bfgminer|nheqminer|randomx|"
            "srbminer|gminer|teamredminer|mprime|prime95|sysbench|burnP6|bonnie\\+\\+|"
            "iozone|fio"
        ),
        "",
        "takes all of the machine",
        _SHOWS,
    ),
    HarmfulUse(
        "fallocate|mkfile|truncate|xfs_mkfile|dd|head",
        (
            r"(-[a-z]+)?\d{2,}[gG](iB|B)?|(-[a-z]+)?\d+[tTpP](iB|B)?|bs=\d+[GT].*|--(size|length|"
            r"bytes)=\d{2,}[GT].*"
        ),
        "fills the disk",
    ),
    HarmfulUse("ulimit|prlimit", r"unlimited|--core=unlimited", "lets programs take all of the machine", "-a"),
    # ------------------------------------------------------------ files
    HarmfulUse(
        "7z|7za|rar|zip|tar|gzip",
        r"-sdel|-df|-dr|-m|--move|--remove-files",
        "deletes the files that it packs",
        "-t|--test",
    ),
    HarmfulUse(
        "mogrify|exiftool|jpegoptim|optipng|dos2unix",
        r"\*\S*|-overwrite_original|-delete_original!?",
        "overwrites files",
    ),
    HarmfulUse(
        ("ccrypt|ccencrypt|mcrypt|encfs|veracrypt|cryptmount|gocryptfs|bcrypt|fscrypt|ecryptfs-setup-private"),
        "",
        "makes files unreadable for whoever has no key",
        rf"{_SHOWS}|-d|--decrypt|-c",
    ),
    HarmfulUse(
        "chattr|chflags|SetFile|attrib",
        r"[+=-][a-zA-Z]+|hidden|nohidden|uchg|schg|-a|\+h|nouchg|V",
        "hides files, or hinders later changes",
    ),
    HarmfulUse("curl|openssl", r"-?-engine(=.*)?|-provider(-path)?", "loads code from a file", guard="network"),
    HarmfulUse("ssh-keygen", "-p", "changes what protects a key", "-P.+"),
    HarmfulUse("gpg|gpg2", r"--delete-(secret-)?.*keys?", "deletes keys"),
    HarmfulUse("ssh-keygen|ssh-add|ssh", "-D|-s|-I", "loads code from a file", r"\d+|.*@.*", guard="network"),
    HarmfulUse(
        "install|cp|rsync",
        r"-m?=?0?[2467][0-7]{3}|--mode=0?[2467][0-7]{3}|--chmod=.*[ug]?\+s.*|[2467][0-7]{3}",
        "lets others run it with the rights of its owner",
    ),
    HarmfulUse(
        "tailscale|caddy",
        "serve|funnel|file-server",
        "lets another machine in",
        "status|--help",
        guard="network",
    ),
    HarmfulUse(
        "restic|borg|kopia|duplicity|duplicati|bup|rdiff-backup",
        r".*(://|@[\w.-]+:|rest:|sftp:|s3:|b2:).*",
        "sends files away",
        "list|info|check|snapshots",
        guard="network",
    ),
    HarmfulUse("ztcp|zsocket", ".+", "joins the shell to another machine", guard="network"),
    HarmfulUse(
        "codesign", "--force|-f|--remove-signature|-s", "changes what proves where a program comes from"
    ),
    HarmfulUse(
        (
            "lsregister|softwareupdate|safaridriver|dsconfigad|dsexport|dsimport|dsenableroot|"
            "odutil|scselect|sysadminctl|notifyutil"
        ),
        r"-delete|-kill|--schedule|--ignore|--enable|-add|-remove|on|off|-p|-f|set",
        _SETTING,
        "--list|show|-show|status",
    ),
    HarmfulUse(
        "ldapadd|ldapmodify|ldapdelete|ldappasswd|ldapmodrdn|smbpasswd|pdbedit|kadmin|kadmin.local|samba-tool|realm",
        ".+",
        "changes who may use the network",
        rf"{_SHOWS}|-L",
    ),
    HarmfulUse(
        "ssh|autossh",
        r"(0\.0\.0\.0|\*|\[?::\]?):\d+:.*|-[a-zA-Z]*L(0\.0\.0\.0|\*|\[?::\]?):.*"
        r"|-[46AaCfGgKkMNnqsTtVvXxYy]*g[46AaCfGgKkMNnqsTtVvXxYy]*[LDl]?",
        "lets other machines through to another network",
        guard="network",
    ),
    HarmfulUse(
        "kubectl|oc port-forward",
        r"--address=(?!127\.|localhost|\[?::1).+|0\.0\.0\.0|::",
        "lets other machines through to another network",
        guard="network",
    ),
    HarmfulUse(
        "node|nodejs|deno|bun|tsx|ts-node|nodemon",
        r"--inspect(-brk|-wait)?=(0\.0\.0\.0|\[?::\]?)(:\d+)?",
        _DEBUGS,
        guard="network",
    ),
    HarmfulUse("java|mvn|gradle", r"-agentlib:jdwp=.*address=(\*|0\.0\.0\.0):.*", _DEBUGS, guard="network"),
    HarmfulUse("dlv|debugpy", r"(--listen=?)?(0\.0\.0\.0)?:\d+", _DEBUGS, guard="network"),
    HarmfulUse("gdbserver|lldb-server", r"(?!localhost:|127\.)\S*:\d+", _DEBUGS, guard="network"),
    HarmfulUse(
        "jupyter|jupyter-lab|jupyter-notebook",
        r"--(\w+App|ServerApp|IdentityProvider)\.(token|password)=",
        _DEBUGS,
        guard="network",
    ),
    HarmfulUse("vault policy", "write", _RIGHTS),
    HarmfulUse("kubectl|oc auth", "reconcile", _RIGHTS, "--dry-run.*"),
    HarmfulUse("redis-server", "--protected-mode", "lets another machine in", "yes", guard="network"),
    HarmfulUse("devtunnel|rathole", "host|tunnel|--tunnel", "lets another machine in", guard="network"),
    HarmfulUse("kubectl|oc create", "cronjob|job|daemonset", _LATER, "--dry-run.*", guard="persistence"),
)
