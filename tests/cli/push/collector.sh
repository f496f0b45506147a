#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a collector of OpenTelemetry with the receiver of OTLP profiles and an exporter to files, which is built once of
# Go's modules under ~/.cache/sonde-test (SONDE_TEST_CACHE): 0.5 GB, some minutes. Usage: tests/cli/push/collector.sh
# Status 77, with the reason on stderr, where it cannot be had.
set -u
version=0.161.0 providers=1.67.0
cache=${SONDE_TEST_CACHE:-$HOME/.cache/sonde-test}
folder=$cache/otelcol-$version
log=$folder.log
source=$(dirname "$(readlink -f "$0")")/collector.go

unavailable() { echo "no collector of OpenTelemetry $version for the tests: $1" >&2; exit 77; }

if [ -x "$folder/otelcol" ]; then echo "$folder/otelcol"; exit 0; fi
command -v go >/dev/null || unavailable "there is no Go"
mkdir -p "$folder" || unavailable "cannot create $folder"
exec 9>"$cache/otelcol-lock" && flock 9
cp "$source" "$folder/main.go" && cd "$folder" || unavailable "cannot write $folder"
collector=go.opentelemetry.io/collector
{
	rm -f go.mod go.sum
	go mod init otelcol &&
		go get "$collector/otelcol@v$version" "$collector/receiver/otlpreceiver@v$version" "$collector/confmap/provider/fileprovider@v$providers" \
			"$collector/confmap/provider/envprovider@v$providers" \
			"github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter@v$version" &&
		go mod tidy && go build -o otelcol .
} >"$log" 2>&1 9>&- || unavailable "$(tail -1 "$log")"
echo "$folder/otelcol"
