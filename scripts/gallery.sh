#!/bin/sh
# Makes the gallery: reports of real runs against `tare target`, and pictures of them.
#
#   scripts/gallery.sh TARE FOLDER
#
# calm        a target that keeps up
# stalled     one that stands still for a second: latency and service time part
# overloaded  a generator that was asked for more than it can: INVALID
# failing     a target that answers with errors, and at last not at all; two thresholds come true
# frames      ten thousand frames a second over a veth pair, measured where they arrive (needs root)
#
# FOLDER gets NAME.html (the report) and NAME.png (its picture). All is on loopback or in namespaces of its own, and ends
# within two minutes. `scripts/gallery.sh TARE FOLDER frames` makes frames alone.
set -eu

tare=$1
folder=$2
only_frames=${3:-}
scratch=$(mktemp -d)
target=
bed=
trap '[ -z "$target" ] || kill "$target" 2>/dev/null || true; [ -z "$bed" ] || "$tare" lab down --name "$bed"; rm -rf "$scratch"' EXIT INT TERM
mkdir -p "$folder"

# serve ARGUMENTS: a target on a free port, on the last CPU; sets $target and $url.
serve() {
    rm -f "$scratch/port"
    $ahead taskset -c "$last" "$tare" target --listen 127.0.0.1:0 --for 60s --no-truth --port-file "$scratch/port" \
        "$@" >"$scratch/target.log" 2>&1 &
    target=$!
    tries=0
    until [ -s "$scratch/port" ]; do
        tries=$((tries + 1))
        [ "$tries" -le 100 ] || { cat "$scratch/target.log" >&2; exit 1; }
        sleep 0.1
    done
    url=http://127.0.0.1:$(cat "$scratch/port")/
}

# report NAME ARGUMENTS: a run whose status is its own affair, and its report.
report() {
    name=$1
    shift
    $ahead "$tare" http --no-progress --quiet --cpus 0 --out "$scratch/$name" "$@" || true
    cp "$scratch/$name/report.html" "$folder/$name.html"
    kill "$target" 2>/dev/null || true
    wait "$target" 2>/dev/null || true
}

# picture NAME FILE WIDTH HEIGHT [ID]: of NAME.html; if ID is given, of the section alone that has the chart ID.
picture() {
    page=$scratch/$2.html
    only=${5:+"<style>header, section:not(:has(#$5)) { display: none }</style>"}
    sed "s|</head>|$only</head>|" "$folder/$1.html" >"$page"
    chromium --headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update \
        --disable-sync --no-first-run --hide-scrollbars --user-data-dir="$scratch/chromium" \
        --window-size="$3,$4" --screenshot="$folder/$2.png" "file://$page" >"$scratch/chromium.log" 2>&1
    size=$(wc -c <"$folder/$2.png")
    [ "$size" -le 256000 ] || { echo "$folder/$2.png has $size bytes: make it smaller" >&2; exit 1; }
}

# frames NAME ARGUMENTS: from one end of a bed to the other, both in one process.
frames() {
    name=$1
    shift
    "$tare" lab up --name gallery >/dev/null
    bed=gallery
    $ahead "$tare" send --no-progress --quiet --out "$scratch/$name" packet,netns=tare-gallery-generator:gen0 \
        --receive packet,netns=tare-gallery-sink:sink0 -i 198.18.0.2 "$@" || true
    "$tare" lab down --name gallery
    bed=
    cp "$scratch/$name/report.html" "$folder/$name.html"
}

last=$(($(nproc) - 1))
# The machine may be busy with other things: these two go first, where that is allowed. An overload must not.
ahead=
chrt --fifo 10 true 2>/dev/null && ahead='chrt --fifo 10'
folder=$(cd "$folder" && pwd)

frames frames --rate 10k --size 64,512,1518 --flows 8 --sign -t 10 --cpus 0
picture frames frames 1100 950 c-gaps
[ -z "$only_frames" ] || exit 0

serve --delay lognormal:2ms,0.4
report calm --rate 500 --connections 32 --warmup 2s --duration 30s "$url"

serve --delay lognormal:2ms,0.4 --stall 8s,1s
report stalled --rate 500 --connections 32 --duration 20s "$url"

serve --delay lognormal:2ms,0.4 --error 503=3% --reset 1% --stop-listening 8s --close-after 50
report failing --rate 500 --connections 32 --duration 12s \
    --fail-if 'errors > 1%' --fail-if 'latency.p99 > 250ms' "$url"

ahead=
serve --size 100
report overloaded --rate 2M --threads 1 --duration 5s --grace 1s "$url"

picture calm calm 1100 1250
picture stalled stalled 1100 1500 c-latency
picture overloaded overloaded 1100 1250
picture failing failing 1100 1250 c-outcomes
picture calm phone 400 1250
echo "reports and pictures are in $folder"
