#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check_schema_stale.sh WRITE_SCHEMA WORK_DIR: the committed schema and its page are byte for byte what the field table
# says.
set -euo pipefail

program=${1:?usage: check_schema_stale.sh WRITE_SCHEMA WORK_DIR}
work_dir=${2:?usage: check_schema_stale.sh WRITE_SCHEMA WORK_DIR}
root=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$work_dir"
"$root/tools/gen_schema.sh" "$program" "$work_dir"
bad=0
for file in schema/energy-1.3.schema.json docs/schema.md; do
    if ! cmp "$root/$file" "$work_dir/$file"; then
        echo "stale: $file; run tools/gen_schema.sh $program" >&2
        bad=1
    fi
done
if [ "$bad" -eq 0 ]; then
    echo "the schema and its page are fresh"
fi
exit "$bad"
