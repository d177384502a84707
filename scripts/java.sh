#!/bin/sh
# Prints the home of a JDK of version 22 or later: JAVA_HOME if it is one, else the newest where JDKs are kept. Says
# how to get one, and fails, if there is none.
#
#   scripts/java.sh
set -eu

LEAST=22

# The version of the JDK in a folder, 0 if it is none.
version() {
    [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || { echo 0; return; }
    found=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release")
    echo "${found:-0}"
}

if [ -n "${JAVA_HOME:-}" ] && [ "$(version "$JAVA_HOME")" -ge "$LEAST" ]; then
    echo "$JAVA_HOME"
    exit 0
fi
best='' newest=0
for home in /usr/lib/jvm/* /usr/java/* /opt/*jdk* /opt/java/* "${HOME:-/root}"/.sdkman/candidates/java/* "${HOME:-/root}"/.jdks/*; do
    [ -d "$home" ] || continue
    found=$(version "$home")
    if [ "$found" -ge "$LEAST" ] && [ "$found" -gt "$newest" ]; then
        best=$home newest=$found
    fi
done
if [ -z "$best" ]; then
    echo "no JDK of version $LEAST or later: install one (Debian 13: apt-get install openjdk-25-jdk-headless;" \
        "elsewhere: adoptium.net), or say where it is with JAVA_HOME" >&2
    exit 1
fi
echo "$best"
