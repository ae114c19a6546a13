#!/usr/bin/env bash
# Finds a Java that Spark runs on and prints its home directory; everything else goes to stderr.
# Looks at JAVA_HOME, then at the PATH, then where Linux distributions put Java. Where there is
# none, installs the headless JRE if that is possible without asking: as root, on Debian.
set -euo pipefail

# Prints the home of the given java executable if Spark supports its version.
supported_home() {
    local settings version
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    version=$(sed -n 's/^ *java\.specification\.version = //p' <<<"$settings")
    case $version in
        17 | 21) sed -n 's/^ *java\.home = //p' <<<"$settings" ;;
        *) return 1 ;;
    esac
}

find_java() {
    local java
    if [ -n "${JAVA_HOME:-}" ]; then
        supported_home "$JAVA_HOME/bin/java" && return
        echo "JAVA_HOME is $JAVA_HOME, which is not Java 17 or 21; looking elsewhere." >&2
    fi
    for java in "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
        [ -x "$java" ] && supported_home "$java" && return
    done
    return 1
}

install_java() {
    local package
    [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null || return 1
    echo "No Java 17 or 21 found; installing the headless JRE with apt-get" >&2
    apt-get update -qq >&2 || true # one broken source must not keep the others from being used
    for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >&2 \
            && return
    done
    return 1
}

find_java && exit
if install_java; then
    find_java && exit
fi
echo "Spark needs Java 17 or 21 and none was found: install a JRE (Debian and Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME to one." >&2
exit 1
