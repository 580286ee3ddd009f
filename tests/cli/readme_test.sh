# readme_test.sh - every command of README.md and docs/quickstart.md runs as it is written, in a copy of what a clone has.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir "$dir/bin" "$dir/clone"
ln -s "$ASSAY" "$dir/bin/assay"
export PATH="$dir/bin:$PATH"
cp -R "$root/examples" "$root/suites" "$dir/clone/"
cd "$dir/clone" || exit 2
has_store || { echo "skipped: built without SQLite, and the commands keep their runs"; finish; exit; }
opencl=$("$ASSAY" list devices | grep -c '^opencl:[0-9]* .*usable ' | grep -vx 0)
slow=; case $ASSAY in *-plain-*) ;; *) slow=yes ;; esac # a sanitiser

commands() { # FILE: the lines of its blocks of shell, without what is said about them
    awk '/^```sh/ {inside = 1; next} /^```/ {inside = 0} inside' "$1" | sed 's/ *#.*//' | grep .
}
# A verdict (1, 3, 4) is not a failure of the command: the machine may be busy.
runs() {
    timeout 300 bash -c "$1" </dev/null
    local code=$?
    case "$1" in "assay record "*) [ $code = 0 ] || [ $code = 5 ]; return ;; esac # 5: nothing can be recorded here
    case "$1" in "assay check "*|"assay selftest "*) [ $code = 0 ] || [ $code = 1 ] || [ $code = 3 ] || [ $code = 4 ] ;; *) [ $code = 0 ] ;; esac
}
n=0
for file in README.md docs/quickstart.md; do
    rm -rf .assay # each begins where a clone begins
    while read -r command; do
        case $command in
        "make "*)
            target=${command#make }
            t "$file: $command is a target" grep -q "^${target%% *}:" "$root/Makefile"
            continue ;;
        "cc "*|"export PATH"*) continue ;; # library_test.sh builds so; this test has its own PATH
        *"--device opencl"*) [ -n "$opencl" ] || continue ;;
        "assay devices --measure"|"assay noise"*|"assay selftest "*|*"--compile both"*|"assay tune "*"--recompute"*) [ -z "$slow" ] || continue ;;
        esac
        t "$file: $command" runs "$command"
        n=$((n + 1))
    done < <(commands "$root/$file")
done
t "there are commands" [ $n -gt 25 ]
for verb in $("$ASSAY" list verbs | awk '{print $1}'); do
    case $verb in runs) continue ;; esac
    t "README.md has an example of $verb" bash -c "grep -qE '^assay $verb( |\$)|&& assay $verb ' '$root/README.md'"
done
t "the pages and files that they name are there" [ -s report.html -a -s run.json -a -s y.npy -a -s wiring.svg -a -d policy ]

# The samples are made by assay, as examples/make-samples.sh says: the same files, of the same size.
mkdir made
t "the samples can be made again" examples/make-samples.sh made
for sample in made/*; do
    name=$(basename "$sample")
    t "$name is as it was" [ "$(wc -c <"$sample")" = "$(wc -c <"$root/examples/$name")" ]
done
t "all six" [ "$(ls made | wc -l)" = 6 ]
finish
