# package_test.sh - the Debian packages and the Homebrew formula: made, checked by their own tools, installed into a directory, run, removed.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(dirname "$ASSAY")
cd "$dir" || exit 2
skip() { echo "skipped: $1"; finish; exit; }
if command -v ruby >/dev/null; then
    t "the formula is Ruby" ruby -c "$root/packaging/homebrew/assay.rb"
fi
t "the formula has this version" grep -qF "version \"$("$ASSAY" version | sed -n '1s/assay //p')\"" "$root/packaging/homebrew/assay.rb"
case $build in *gcc-plain-*|*clang-plain-*) ;; *) skip "a build with a sanitiser is not packaged" ;; esac
for tool in dpkg-deb dpkg-shlibdeps; do command -v $tool >/dev/null || skip "$tool is not here"; done

t "the packages are made" bash -c "'$root/tools/deb' '$build' out >files"
t "three of them" [ "$(wc -l <files)" = 3 ]
if command -v lintian >/dev/null; then
    lint() { lintian --allow-root --no-tag-display-limit $(cat files) >lint.out 2>lint.err; cat lint.out; ! grep -qE '^[EW]:' lint.out; }
    t "lintian has neither an error nor a warning" lint
fi
# Into a directory of its own, with a database of its own: nothing of this machine is touched.
mkdir -p target/var/lib/dpkg/info target/var/lib/dpkg/updates
touch target/var/lib/dpkg/status target/var/lib/dpkg/available
in_target() { dpkg --root="$dir/target" --log="$dir/dpkg.log" --force-not-root --force-depends --no-triggers "$@"; }
t "they install" in_target -i $(cat files)
t "what was installed runs" bash -c "target/usr/bin/assay run mlp-small --batch 2 | grep -qF 'f32[2,10]'"
for file in usr/share/man/man1/assay.1.gz usr/share/man/man1/assay-profile.1.gz usr/include/assay.h usr/share/bash-completion/completions/assay \
    usr/share/zsh/vendor-completions/_assay usr/share/fish/vendor_completions.d/assay.fish; do
    t "there is $file" [ -s "target/$file" ]
done
t "and the libraries" bash -c "ls target/usr/lib/*/libassay.so.0 target/usr/lib/*/libassay.a target/usr/lib/*/pkgconfig/assay.pc"
t "the program says what it needs" bash -c "dpkg-deb -f \$(head -1 files) Depends | grep -q libjansson4"
t "they can be removed" in_target -P assay libassay-dev libassay0
t "and nothing of them is left" bash -c "! find target -path '*assay*' ! -path 'target/var/lib/dpkg/*' | grep ."

# --- make install, as the README says ---
t "make install" make -s -C "$root" install-files BUILD="$(cd "$build" && pwd)" PREFIX="$dir/prefix"
for file in bin/assay lib/libassay.a include/assay.h share/man/man1/assay-completion.1 share/zsh/site-functions/_assay; do
    t "it puts $file there" [ -s "prefix/$file" ]
done
t "its completion is this program's" bash -c "'$ASSAY' completion bash | cmp - prefix/share/bash-completion/completions/assay"
t "make uninstall" make -s -C "$root" uninstall BUILD="$(cd "$build" && pwd)" PREFIX="$dir/prefix"
t "leaves no file" bash -c "! find prefix -type f -o -type l | grep ."
finish
