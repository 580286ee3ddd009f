# examples_test.sh - every example is built as its first lines say, and run.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(dirname "$ASSAY")/libassay.a
# The compiler and the sanitiser of the library under test are in its folder's name.
case $ASSAY in *clang-address-undefined*) cc="clang -fsanitize=address,undefined" ;; *clang*) cc=clang ;; *) cc=gcc ;; esac
foreign=$(for p in jansson OpenCL sqlite3; do pkg-config --exists $p && pkg-config --libs $p; done)

t "examples/profile.c compiles against the public header alone" \
    $cc -std=c11 -Wall -Wextra -Werror -I"$root/include" "$root/examples/profile.c" "$lib" $foreign -lm -lpthread -ldl -o "$dir/profile"
t "examples/profile.c writes a page" "$dir/profile" mlp-small "$dir/page.html"
t "examples/compare.c compiles against the public header alone" \
    $cc -std=c11 -Wall -Wextra -Werror -I"$root/include" "$root/examples/compare.c" "$lib" $foreign -lm -lpthread -ldl -o "$dir/compare"
t "examples/compare.c writes a page" "$dir/compare" mlp-small compile=on,off "$dir/compare.html"
t "examples/compare.c says what is wrong" bash -c "! '$dir/compare' mlp-small nothing=1 '$dir/p.html' 2>'$dir/e' && grep -q nothing '$dir/e'"
t "examples/run.c compiles against the public header alone" \
    $cc -std=c11 -Wall -Wextra -Werror -I"$root/include" "$root/examples/run.c" "$lib" $foreign -lm -lpthread -ldl -o "$dir/run"
t "examples/run.c answers and measures" bash -c "'$dir/run' mlp-small | tee '$dir/run.txt' | grep -q 'median .* ns, measured' && grep -q 'bytes of f32' '$dir/run.txt'"
t "examples/run.c says what is wrong" bash -c "! '$dir/run' nothing 2>'$dir/e' && grep -q nothing '$dir/e'"
t "the page is HTML" grep -qi '<!doctype html' "$dir/page.html"
t "examples/profile.c says what is wrong" bash -c "! '$dir/profile' nothing '$dir/p.html' 2>'$dir/e' && grep -q nothing '$dir/e'"
for model in "$root"/examples/*.json; do
    t "$(basename "$model") runs" assay run "$model"
    t "$(basename "$model") profiles" assay profile "$model" --roofs off --runs 50
done
finish
