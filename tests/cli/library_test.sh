# library_test.sh - the library as a package: what it exports, what is installed, and callers in C99 and C++.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(dirname "$ASSAY")
case $build in
*-plain-*) ;;
*) echo "skipped: the plain build is the one that is installed"; finish; exit ;;
esac
case $(uname -s) in Darwin) so=libassay.dylib soname=libassay.0.dylib ;; *) so=libassay.so soname=libassay.so.0 ;; esac
if [ ! -f "$build/$so" ]; then
    echo "FAIL cli: unknown $build/$so; make all builds it"
    failed=1
    finish
    exit 1
fi
case $build in *clang-*) cc=clang cxx=clang++ ;; *) cc=gcc cxx=g++ ;; esac
to=$dir/usr

exported() { # FILE: the names, without the underscore that macOS writes before them
    if [ "$(uname -s)" = Darwin ]; then nm -gU "$1" | awk '{ print substr($3, 2) }'; else nm -D --defined-only "$1" | awk '{ print $3 }'; fi
}
declared() { sed -n '/^static inline/d; s/^[a-z].*[ *]\(assay_[a-z_]*\)(.*/\1/p' "$root/include/assay.h"; }
only_ours() { exported "$1" | grep -v '^assay_' && return 1 || return 0; }
all_of_the_header() { # FILE
    declared | grep -q assay_profile || { echo "the header's functions cannot be read"; return 1; }
    local missing
    missing=$(comm -23 <(declared | sort -u) <(exported "$1" | sort -u))
    [ -z "$missing" ] || { echo "declared and not exported: $missing"; return 1; }
}
has_debug_symbols() { readelf -S "$1" | grep -q '\.debug_info'; }
pc() { PKG_CONFIG_PATH=$to/lib/pkgconfig pkg-config "$@" assay; }
with_library() { LD_LIBRARY_PATH=$to/lib DYLD_LIBRARY_PATH=$to/lib "$@"; }

t "the shared library exports assay_* and nothing else" only_ours "$build/$so"
t "the shared library exports every function of assay.h" all_of_the_header "$build/$so"
t "make install" make --no-print-directory -C "$root" BUILD="${build#"$root"/}" PREFIX="$to" install-files
t "the installed shared library still exports every function" all_of_the_header "$to/lib/$soname"
if command -v readelf >/dev/null; then
    t "its name for the loader has a version" bash -c "readelf -d '$to/lib/$so' | grep -q 'SONAME.*\\[$soname\\]'"
    for file in "bin/assay" "lib/$soname" "lib/libassay.a"; do
        t "debug symbols are not installed with $file" bash -c "$(declare -f has_debug_symbols); ! has_debug_symbols '$to/$file'"
    done
fi
t "the installed program runs" "$to/bin/assay" version
t "pkg-config knows the version of the header" \
    grep -qF "#define ASSAY_VERSION \"$(pc --modversion)\"" "$to/include/assay.h"

cat >"$dir/caller.c" <<'C'
#include "assay_arm.h"
#include "assay.h"

int main(void)
{
    static const char text[] = "abc";
    assay_env        *env;
    assay_model      *model;
    assay_options    *options;
    int               wrong = assay_arm_hash(0, text, 3) != 0xe71fa2190541574bu;
    if (assay_env_new(&env) != ASSAY_OK || assay_options_new(env, &options) != ASSAY_OK)
        return 1;
    wrong |= assay_model_load(env, "no-such-model", options, &model) == ASSAY_OK || strstr(assay_message(env), "no-such-model") == NULL;
    wrong |= assay_model_load(env, "mlp-small", options, &model) != ASSAY_OK;
    if (!wrong)
        assay_model_free(model);
    {
        ASSAY_SPAN("without a session this does nothing");
        assay_span_work(1, 1);
    }
    assay_options_free(options);
    assay_env_free(env);
    return wrong;
}
C
strict="-pedantic -Wall -Wextra -Werror"
t "a C99 program compiles without a warning" $cc -std=c99 $strict $(pc --cflags) "$dir/caller.c" $(pc --libs) -o "$dir/c99"
t "and runs" with_library "$dir/c99"
cp "$dir/caller.c" "$dir/caller.cc"
if command -v $cxx >/dev/null; then
    for std in c++11 c++17; do
        t "a $std program compiles without a warning" $cxx -std=$std $strict $(pc --cflags) "$dir/caller.cc" $(pc --libs) -o "$dir/$std"
        t "and runs as $std" with_library "$dir/$std"
    done
else
    echo "skipped: C++ callers, because there is no $cxx"
fi

t "examples/profile.c compiles against the shared library by pkg-config" \
    $cc -std=c11 $(pc --cflags) "$root/examples/profile.c" $(pc --libs) -o "$dir/shared"
t "and writes a page" with_library "$dir/shared" mlp-small "$dir/shared.html"
t "and needs the library at run time" bash -c "! '$dir/shared' mlp-small '$dir/none.html'"
rm -f "$to/lib/$so" "$to/lib/$soname"
t "examples/profile.c compiles against the static library by pkg-config --static" \
    $cc -std=c11 $(pc --static --cflags) "$root/examples/profile.c" $(pc --static --libs) -o "$dir/static"
t "and writes the page alone" "$dir/static" mlp-small "$dir/static.html"

t "make uninstall" make --no-print-directory -C "$root" BUILD="${build#"$root"/}" PREFIX="$to" uninstall
t "nothing of it is left" bash -c "! find '$to' -type f -o -type l | grep ."
# A compiler that is not there has no machine; the arguments of tools/select must not move up, for it writes to one of them.
sources_stay() {
    mkdir "$dir/tree" && cp -r "$root/Makefile" "$root/tools" "$root/include" "$root/src" "$dir/tree" || return 1
    make --no-print-directory -n -C "$dir/tree" CC=nosuchcc all >/dev/null 2>&1
    diff -r "$root/src" "$dir/tree/src"
}
t "make with a compiler that is not there leaves the sources as they are" sources_stay
finish
