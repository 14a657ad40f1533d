#!/bin/sh
# Brings the programs that some tests need beside Python, with Debian's own packages:
#
#   RabbitMQ 3.10   package rabbitmq-server of Debian 12
#   RabbitMQ 4.x    Debian 13's, in a folder of its own (see tests/broker/nodes.py)
#   Graphviz, Node.js with npm, promtool (package prometheus)
#
# Only root on a Debian can be given them. Everyone else is told what will be skipped; with CI=true
# a missing RabbitMQ is an error.
set -eu

cache=${SEATWARDEN_TEST_CACHE:-$HOME/.cache/seatwarden}
folder=$cache/rabbitmq-4
policy=/usr/sbin/policy-rc.d
log=$(mktemp)
own_policy=
unfinished=

tidy_up() {
    rm -f "$log"
    if [ -n "$own_policy" ]; then rm -f "$policy"; fi
    if [ -n "$unfinished" ]; then rm -rf --one-file-system "$unfinished"; fi
}
trap tidy_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# has_broker VERSION: is that RabbitMQ installed, or in the folder?
has_broker() {
    for installed in "/usr/lib/rabbitmq/lib/rabbitmq_server-$1."* \
        "$folder/usr/lib/rabbitmq/lib/rabbitmq_server-$1."*; do
        if [ -d "$installed" ]; then return 0; fi
    done
    return 1
}

has() {
    command -v "$1" >/dev/null
}

failed() {
    echo "$1 failed; the end of what it said:"
    tail -n 15 "$log"
}

install_packages() {
    echo "Installing $*"
    # Installing a broker would start it. This is how Debian is told not to; a machine that has
    # such a file already has decided for itself.
    if [ ! -e "$policy" ]; then
        own_policy=yes
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt="apt-get --quiet --yes -o DPkg::Lock::Timeout=120"
    if ! { $apt update && $apt install --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null; then
        failed apt-get
        return
    fi
    # Nor shall it start with the machine, or run because that file allowed it.
    for service in rabbitmq-server prometheus; do
        case " $* " in
        *" $service "*)
            if [ -d /run/systemd/system ]; then systemctl --quiet disable --now "$service"; fi
            ;;
        esac
    done
}

# Built under another name and renamed when finished, so that the folder is whole or not there.
build_folder() {
    echo "Preparing RabbitMQ 4.x in $folder (about a minute, 250 MB, once)"
    mkdir -p "$cache"
    unfinished=$(mktemp -d "$cache/unfinished.XXXXXX")
    chmod 755 "$unfinished"
    # debootstrap mounts /proc inside. In a namespace of its own no mount can stay behind.
    if ! unshare --mount debootstrap --variant=minbase --include=rabbitmq-server \
        trixie "$unfinished" >"$log" 2>&1 </dev/null; then
        failed debootstrap
        return
    fi
    rm -rf "$unfinished/var/cache/apt/archives" "$unfinished/var/lib/apt/lists"
    if mv -T "$unfinished" "$folder"; then unfinished=; fi
}

missing=
has_broker 3.10 || missing="$missing rabbitmq-server"
has_broker 4 || has debootstrap || missing="$missing debootstrap"
has dot || missing="$missing graphviz"
has node || missing="$missing nodejs"
has npm || missing="$missing npm"
has promtool || missing="$missing prometheus"

if [ "$(id -u)" = 0 ]; then
    if [ -n "$missing" ] && has apt-get; then
        # shellcheck disable=SC2086 # a list of packages
        install_packages $missing
    fi
    if ! has_broker 4 && has debootstrap && has unshare; then build_folder; fi
fi

lost=
has_broker 3.10 || lost="$lost, those with RabbitMQ 3.10 (rabbitmq-server of Debian 12)"
has_broker 4 || lost="$lost, those with RabbitMQ 4.x (debootstrap and root)"
has dot || lost="$lost, drawings (graphviz)"
has promtool || lost="$lost, alerts (promtool, of prometheus)"
has node && has npm || lost="$lost, clients in JavaScript (nodejs, npm)"

if [ -n "$lost" ]; then
    echo "These tests will be skipped: ${lost#, }."
    echo "As root on Debian 12, tests/setup.sh brings what they need."
fi
if [ "${CI:-}" = true ] && ! { has_broker 3.10 && has_broker 4; }; then
    echo "CI=true: tests with RabbitMQ must not be skipped" >&2
    exit 1
fi
