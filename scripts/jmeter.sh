#!/bin/sh
# Prints the folder of Apache JMeter, a peer of the experiments; Maven fetches it into .tools if it is missing.
# Debian's package is of 2014, and reads no plans with the libraries beside it.
#
#   scripts/jmeter.sh
set -eu
cd "$(dirname "$0")/.."

version=5.6.3
home=$PWD/.tools/jmeter-$version
if [ -e "$home/bin/ApacheJMeter.jar" ] && [ -e "$home/bin/saveservice.properties" ]; then
    echo "$home"
    exit 0
fi

scripts/need.sh java=default-jre-headless mvn=maven unzip=unzip >&2
echo "installing with Maven: Apache JMeter $version into $home" >&2
rm -rf "$home"
mkdir -p "$home/bin" "$home/lib/ext"
part() {
    echo "<dependency><groupId>org.apache.jmeter</groupId><artifactId>$1</artifactId>"
    echo "<version>$version</version></dependency>"
}
cat >"$home/pom.xml" <<END
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tare</groupId><artifactId>jmeter</artifactId><version>1</version>
<dependencies>$(part ApacheJMeter)$(part ApacheJMeter_http)$(part ApacheJMeter_config)</dependencies></project>
END
mvn -q -f "$home/pom.xml" dependency:copy-dependencies -DoutputDirectory="$home/lib" >&2
# As in the archive that the project hands out: it finds its parts by these places.
unzip -qo "$home/lib/ApacheJMeter_config-$version.jar" 'bin/*' -d "$home" >&2
mv "$home/lib/ApacheJMeter_co"*.jar "$home/lib/ApacheJMeter_http-$version.jar" "$home/lib/ext/"
mv "$home/lib/ApacheJMeter-$version.jar" "$home/bin/ApacheJMeter.jar"
echo "$home"
