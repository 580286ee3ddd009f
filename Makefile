# assay: one library, one program.  `make run` and `make test` do everything, set-up included.
#
#   make            build/assay and build/libassay.{a,so}, by all cores unless -j says otherwise
#   make run        installs what is missing, builds, profiles two networks, writes report.html
#   make test       installs what is missing, builds, runs all tests
#   make test-web   the HTML report in Debian's chromium (needs node; installs what is missing)
#   make test-arm   the tests for aarch64 under qemu-user
#   make fuzz       a short run of every fuzz harness (FUZZ_SECONDS=10)
#   make bench      what a span, a profiled run, an event of a long record and an example of the loader cost on this machine
#   make bench-peers  assay beside ONNX Runtime, OpenVINO, PyTorch, JAX, MLX, OpenBLAS, oneDNN and libxsmm, tables into docs/benchmarks.md
#   make bench-nodes  single operators beside ONNX Runtime, outputs compared first, losses first (a Python environment in build/)
#   make bench-train  training steps beside PyTorch, tables into docs/benchmarks.md
#   make bench-profilers  what profiling costs, beside ONNX Runtime's profiler, perf and heaptrack, tables into docs/benchmarks.md
#   make bench-load what loading a 100 MB ONNX model costs, beside ONNX Runtime (a Python environment in build/)
#   make install    PREFIX=/usr/local: the program, the libraries, their headers and assay.pc, manual pages, shell completion; make uninstall
#   make deb        Debian packages in build/: assay, libassay0, libassay-dev
#
# CC=clang, SAN=address|undefined|thread|memory-of-lists (comma-separated), CROSS=aarch64-linux-gnu-, PLANT=leak|race|... do
# what they say; objects live in build/<cc>-<san>-<arch>/.  OPT= is the optimisation, DEBUG=-g gives kernels debug information
# too; CPPFLAGS, CFLAGS and LDFLAGS are added to our own flags.

CC       ?= gcc
ifeq ($(origin CC),default)
CC       := gcc
endif
SAN      ?=
CROSS    ?=
PLANT    ?=
OPT      ?= -O2
PREFIX   ?= /usr/local
FILTER   ?=
FUZZ_SECONDS ?= 10

# All cores, unless -j is given.  GNU make 4 lets the -j of the command line win by itself; for 3.81 we look at the command.
ifeq ($(MAKELEVEL),0)
ifeq ($(filter -j% --jobs% --jobserver%,$(MAKEFLAGS) $(shell ps -o args= -p $$PPID 2>/dev/null))$(filter clean,$(MAKECMDGOALS)),)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
endif
endif

OS       := $(shell uname -s | tr A-Z a-z)
COMPILER := $(CROSS)$(CC)
ARCH     := $(shell $(COMPILER) -dumpmachine 2>/dev/null | cut -d- -f1)
ifeq ($(CROSS),)
PKG_CONFIG := pkg-config
else
PKG_CONFIG := PKG_CONFIG_LIBDIR=/usr/lib/$(CROSS:-=)/pkgconfig:/usr/share/pkgconfig pkg-config
endif
comma    := ,
BUILD    := build/$(notdir $(CC))-$(if $(SAN),$(subst $(comma),-,$(SAN)),plain)-$(ARCH)$(if $(PLANT),-plant-$(PLANT))

# What goes in, what is left out and why: tools/select reads the second lines of the plugs.
ALL_SRC  := $(sort $(shell find src -name '*.c' ! -name '*_test.c' ! -path 'src/cli/*'))
CLI_SRC  := $(sort $(wildcard src/cli/*.c))
$(shell mkdir -p $(BUILD)/gen)
LIB_SRC  := $(shell PKG_CONFIG="$(PKG_CONFIG)" tools/select "$(OS)" "$(ARCH)" $(BUILD)/gen/left_out $(BUILD)/gen/packages $(ALL_SRC))
PACKAGES := jansson $(shell cat $(BUILD)/gen/packages 2>/dev/null)
TEST_SRC := $(sort $(shell find src -name '*_test.c') $(wildcard tests/runner/*.c tests/conform/*.c tests/honest/*.c tests/golden/*.c))

WARN     := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Werror
ifdef LAX
WARN     := -Wall
endif
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
CPP_ALL  := -Iinclude -Isrc -I. -D_GNU_SOURCE $(if $(PLANT),-DAS_PLANT_$(shell echo $(PLANT) | tr a-z A-Z)) $(CPPFLAGS)
C_ALL    := -std=gnu11 -fPIC -ffp-contract=off $(WARN) $(SANFLAGS) $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null) $(CFLAGS)
SYS_LIBS := -lm -lpthread
ifeq ($(OS),linux)
SYS_LIBS += -ldl
WRAP     := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=posix_memalign,--wrap=aligned_alloc
TEST_CPP := -DAS_HAVE_WRAP
endif
LIBS     := $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null || echo -ljansson) $(SYS_LIBS)
# The shared library: its file, the name that programs ask for, and how it is linked.
VERSION  := $(shell sed -n 's/^.define ASSAY_VERSION "\(.*\)"/\1/p' include/assay.h)
ifeq ($(OS),darwin)
SHARED   := libassay.dylib
SONAME   := libassay.$(firstword $(subst ., ,$(VERSION))).dylib
SO_FLAGS := -dynamiclib -install_name $(PREFIX)/lib/$(SONAME)
else
SHARED   := libassay.so
SONAME   := libassay.so.$(firstword $(subst ., ,$(VERSION)))
SO_FLAGS := -shared -Wl,-soname,$(SONAME)
endif
LINK     := $(COMPILER) $(SANFLAGS) $(LDFLAGS)
# Loaded into other people's programs (LD_PRELOAD): nothing of ours but src/record/share.h, no sanitiser, always optimised.
PRELOAD  := $(if $(filter linux-x86_64 linux-aarch64,$(OS)-$(ARCH)),libassay-preload.so)
PRELOAD_SRC := $(sort $(wildcard preload/*.c))

LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/plugs.o $(BUILD)/gen/build.o $(BUILD)/gen/page.o $(BUILD)/gen/profiles.o $(BUILD)/gen/suites.o $(BUILD)/gen/glossary.o
CLI_OBJ  := $(CLI_SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/verbs.o
TEST_OBJ := $(TEST_SRC:%.c=$(BUILD)/%.o)
$(shell mkdir -p $(sort $(dir $(LIB_OBJ) $(CLI_OBJ) $(TEST_OBJ))) $(BUILD)/bench)

.PHONY: all run test test-unit test-arm fuzz bench bench-load install install-files uninstall clean setup arrows
all: build/assay build/libassay.a build/$(SHARED) $(PRELOAD:%=$(BUILD)/%)

# Links to what was asked for last: another compiler's build may be the newer file.
LINKS := build/assay build/libassay.a build/$(SHARED)
$(LINKS): build/%: $(BUILD)/% FORCE
	@ln -sf $(BUILD:build/%=%)/$* $@
FORCE:

$(BUILD)/assay: $(CLI_OBJ) $(BUILD)/libassay.a
	@echo "  link $@"
	@$(LINK) -o $@ $(CLI_OBJ) $(BUILD)/libassay.a $(LIBS)
$(BUILD)/libassay.a: $(LIB_OBJ)
	@rm -f $@ && $(CROSS)ar rcs $@ $(LIB_OBJ)
$(BUILD)/$(SHARED): $(LIB_OBJ)
	@$(LINK) $(SO_FLAGS) -o $@ $(LIB_OBJ) $(LIBS)
	@ln -sf $(SHARED) $(BUILD)/$(SONAME)
$(BUILD)/libassay-preload.so: $(PRELOAD_SRC) preload/preload.h src/record/share.h Makefile
	@$(COMPILER) -std=gnu11 -O2 -g -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -fasynchronous-unwind-tables $(WARN) \
	    -D_GNU_SOURCE $(CPPFLAGS) $(CFLAGS) -Isrc -I. $(LDFLAGS) -Wl,-soname,libassay-preload.so -o $@ $(PRELOAD_SRC) -lpthread -ldl
$(BUILD)/run-tests: $(TEST_OBJ) $(BUILD)/libassay.a
	@echo "  link $@"
	@$(LINK) $(WRAP) -o $@ $(TEST_OBJ) $(BUILD)/libassay.a $(LIBS)

# Instruction sets by file suffix; tools/select keeps each out of the other architecture's build.
$(BUILD)/%_avx2.o: ISA := -mavx2 -mfma -mf16c
$(BUILD)/%_avx512.o: ISA := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma
$(BUILD)/%_vnni.o: ISA := -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma
$(BUILD)/%_dotprod.o: ISA := -march=armv8.2-a+dotprod
# Kernels carry no debug information (it took a third of their compile time); a sanitiser needs lines only.
DEBUG    := $(if $(SAN),-g1,-g)
OPTIMISE := $(OPT)
$(BUILD)/src/backend/cpu/%.o: DEBUG := $(if $(SAN),-g1,-g0)
# A fuzzer reads files and runs no network: kernels with all checks were half of its build.
ifneq ($(findstring fuzzer,$(SAN)),)
$(BUILD)/src/backend/cpu/%.o: UNCHECK := -fno-sanitize=all
endif
# The shared library exports what assay.h declares and nothing else.
$(BUILD)/src/%.o $(BUILD)/gen/%.o: HIDE := -fvisibility=hidden
# Tests are compiled once and run once: -O1 is cheaper.
$(BUILD)/%_test.o $(BUILD)/tests/%.o: CPP_ALL += $(TEST_CPP)
$(BUILD)/%_test.o $(BUILD)/tests/%.o: OPTIMISE := $(OPT:-O2=-O1)

# A line for every 40 files.  Of how many is known only when none of them is there yet.
COUNTED  := $(LIB_OBJ) $(CLI_OBJ) $(if $(filter test-build,$(MAKECMDGOALS)),$(TEST_OBJ))
N_ALL    := $(if $(filter-out all test-build,$(MAKECMDGOALS))$(wildcard $(COUNTED)),,$(words $(COUNTED)))
DONE     :=
LINE     :=
progress = $(eval DONE += x)$(eval LINE += x)$(if $(filter 40,$(words $(LINE))),$(eval LINE :=)&& echo "  built $(words $(DONE))$(if $(N_ALL), of $(N_ALL)) files")
compile  = $(COMPILER) $(CPP_ALL) $(C_ALL) $(OPTIMISE) $(DEBUG) $(HIDE) $(ISA) $(UNCHECK) -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.c Makefile
	@$(if $(V),echo "  cc $<"; )$(compile) $(progress)
$(BUILD)/gen/%.o: $(BUILD)/gen/%.c Makefile
	@$(compile) $(progress)

$(BUILD)/gen/plugs.c: FORCE
	@tools/plugs $@ $(BUILD)/gen/left_out $(LIB_SRC)
$(BUILD)/gen/verbs.c: FORCE
	@tools/plugs --verbs $@ $(CLI_SRC)
# The style and the script of the HTML report are files of their own; the program carries them.
PAGE     := src/report/writer/page
$(BUILD)/gen/page.c: $(PAGE).css $(PAGE).js tools/embed
	@tools/embed $@ report/writer/html.h as_page_style=$(PAGE).css as_page_script=$(PAGE).js
# Requirement profiles are data that users may copy and change; the program carries those that it knows by name.
PROFILES := $(sort $(wildcard data/profiles/*.json))
$(BUILD)/gen/profiles.c: $(PROFILES) tools/embed-files
	@tools/embed-files $@ lab/require.h as_profile_file as_profile_files $(PROFILES)
SUITES := $(sort $(wildcard suites/*.txt))
$(BUILD)/gen/suites.c: $(SUITES) tools/embed-files
	@tools/embed-files $@ lab/cases.h as_suite_file as_suite_files $(SUITES)
# Reports explain their words by the same list that the texts are checked against.
$(BUILD)/gen/glossary.c: docs/words.md tools/glossary
	@tools/glossary $@ docs/words.md
$(BUILD)/gen/build.c: FORCE
	@printf '/* Written by the Makefile. */\n#include "base/plugs.h"\nconst char as_build_text[] = "%s, %s%s, %s-%s";\n' \
	    "$$($(COMPILER) --version | head -1 | tr -d '\"\\')" "$(OPT)" "$(if $(SAN), -fsanitize=$(SAN))" "$(ARCH)" "$(OS)" >$@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@

# --- what people type ------------------------------------------------------------------------------

setup:
	@tools/setup run test

run:
	@tools/setup run
	@$(MAKE) --no-print-directory all
	build/assay profile mlp-small --batch 8 --no-pager
	build/assay profile cnn-small --batch 8 --no-pager --json build/cnn-small.json --html report.html
	@echo "The second report as a page:  file://$(CURDIR)/report.html"

test:
	@tools/setup run test
	@$(MAKE) --no-print-directory all test-build
	@BUILD=$(BUILD) tools/test $(FILTER)

.PHONY: test-build
test-build: $(BUILD)/run-tests $(BUILD)/assay $(PRELOAD:%=$(BUILD)/%)
test-unit: $(BUILD)/run-tests
	@$(EMULATOR) $(BUILD)/run-tests $(TEST_FLAGS) $(FILTER)

.PHONY: test-web
test-web: build/assay
	@tests/web/run $(FILTER)

# What is exported, read by other people's readers.
.PHONY: test-viewers
test-viewers: build/assay $(BUILD)/make_traces
	@ASSAY=build/assay MAKE_TRACES=$(BUILD)/make_traces tests/viewers/run $(FILTER)
$(BUILD)/make_traces: $(BUILD)/tests/viewers/make_traces.o $(BUILD)/libassay.a
	@$(LINK) -o $@ $^ $(LIBS)
$(BUILD)/tests/viewers/make_traces.o: | $(BUILD)/tests/viewers
$(BUILD)/tests/viewers:
	@mkdir -p $@

test-arm:
	@tools/setup arm
	@$(MAKE) --no-print-directory CROSS=aarch64-linux-gnu- test-unit \
	    EMULATOR="env ASSAY_TEST_SHORT=1 qemu-aarch64 -L /" TEST_FLAGS="--quiet"

fuzz:
	@tools/setup fuzz
	@tools/fuzz $(FUZZ_SECONDS)

bench: $(BUILD)/bench_span $(BUILD)/bench_trace $(BUILD)/bench_export $(BUILD)/bench_loader
	@$(BUILD)/bench_span
	@$(BUILD)/bench_trace $(BUILD)/bench.trace
	@$(BUILD)/bench_export $(BUILD)
	@$(BUILD)/bench_loader $(BUILD)
bench-load: $(BUILD)/bench_load
	@tools/onnx-load --bench $<
$(BUILD)/bench_span $(BUILD)/bench_load $(BUILD)/bench_trace $(BUILD)/bench_export $(BUILD)/bench_loader: $(BUILD)/bench_%: $(BUILD)/bench/bench_%.o $(BUILD)/libassay.a
	@$(LINK) -o $@ $^ $(LIBS)

# The peers are libraries of other people: only this target installs and links them.
PEER_FLAGS = $(shell pkg-config --exists openblas && echo -DHAVE_OPENBLAS `pkg-config --cflags openblas`) \
    $(if $(wildcard /usr/include/dnnl.h),-DHAVE_DNNL) $(if $(wildcard /usr/include/libxsmm.h),-DHAVE_XSMM)
PEER_LIBS  = $(shell pkg-config --libs openblas 2>/dev/null) $(if $(wildcard /usr/include/dnnl.h),-ldnnl -l:libgomp.so.1) $(if $(wildcard /usr/include/libxsmm.h),-lxsmm)
.PHONY: bench-peers
bench-peers:
	@tools/setup run peers
	@$(MAKE) --no-print-directory all build/peer-worker
	@test -x build/newest-venv/bin/python || python3 -m venv build/newest-venv
	@build/newest-venv/bin/python -m pip install --quiet --upgrade torch torchvision onnx onnxruntime openvino jax 'mlx[cpu]' ncps numpy
	@build/newest-venv/bin/python tools/bench-peers $(BENCH_FLAGS) --into docs/benchmarks.md
.PHONY: bench-profilers
bench-profilers: $(BUILD)/bench_span
	@tools/setup run peers profilers
	@$(MAKE) --no-print-directory all
	@ln -sf $(BUILD:build/%=%)/bench_span build/bench_span
	@test -x build/peers-venv/bin/python || /usr/bin/python3 -m venv --system-site-packages build/peers-venv
	@build/peers-venv/bin/python -m pip install --quiet onnxruntime 'numpy<2'
	@build/peers-venv/bin/python tools/bench-profilers $(BENCH_FLAGS) --into docs/benchmarks.md
# Single operators beside the newest ONNX Runtime, in an environment of its own: the peers' NumPy is older.
.PHONY: bench-nodes
bench-nodes: all
	@test -x build/nodes-venv/bin/python || python3 -m venv build/nodes-venv
	@build/nodes-venv/bin/python -m pip install --quiet --upgrade onnxruntime onnx numpy
	@build/nodes-venv/bin/python tools/bench-nodes $(BENCH_FLAGS)
# Training beside PyTorch, the newest from the registry, in an environment of its own: its NumPy is newer than the peers'.
.PHONY: bench-train
bench-train: build/train-worker
	@test -x build/torch-venv/bin/python || python3 -m venv build/torch-venv
	@build/torch-venv/bin/python -m pip install --quiet --upgrade torch numpy ncps
	@build/torch-venv/bin/python tools/bench-train $(BENCH_FLAGS) --into docs/benchmarks.md
build/train-worker: bench/train_worker.c $(BUILD)/libassay.a
	@$(COMPILER) $(CPP_ALL) $(C_ALL) $(OPT) $(DEBUG) $(LDFLAGS) -o $@ $^ $(LIBS)
build/peer-worker: bench/peer_worker.c $(BUILD)/libassay.a
	@$(COMPILER) $(CPP_ALL) $(C_ALL) $(OPT) $(DEBUG) $(PEER_FLAGS) $(LDFLAGS) -o $@ $^ $(PEER_LIBS) $(LIBS)

arrows:
	@tools/arrows

# Debug symbols stay behind: strip -S and -x mean the same to GNU and to Apple.
TO       := $(DESTDIR)$(PREFIX)
MAN      := $(wildcard man/*.1)
install: all
	@$(MAKE) --no-print-directory install-files
# Where each shell looks for what it completes; Debian's zsh looks elsewhere (tools/deb).  Another machine's program cannot be asked.
ZSH_DIR  ?= share/zsh/site-functions
WORDS    := share/bash-completion/completions/assay $(ZSH_DIR)/_assay share/fish/vendor_completions.d/assay.fish
install-files:
	install -d $(TO)/bin $(TO)/lib/pkgconfig $(TO)/include $(TO)/share/man/man1
	@$(if $(CROSS),true,install -d $(addprefix $(TO)/,$(dir $(WORDS))) && set -- $(addprefix $(TO)/,$(WORDS)) && \
	    for shell in bash zsh fish; do echo "completion for $$shell: $$1"; $(BUILD)/assay completion $$shell >"$$1" && chmod 644 "$$1" || exit 5; shift; done)
	install -m 755 $(BUILD)/assay $(TO)/bin/assay
	install -m 644 $(BUILD)/libassay.a $(TO)/lib/libassay.a
	install -m 755 $(BUILD)/$(SHARED) $(TO)/lib/$(SONAME)
	$(if $(PRELOAD),install -d $(TO)/lib/assay && install -m 644 $(BUILD)/$(PRELOAD) $(TO)/lib/assay/ && $(CROSS)strip -S -x $(TO)/lib/assay/$(PRELOAD))
	$(CROSS)strip $(TO)/bin/assay
	$(CROSS)strip -S $(TO)/lib/libassay.a
	$(CROSS)strip -S -x $(TO)/lib/$(SONAME)
	ln -sf $(SONAME) $(TO)/lib/$(SHARED)
	install -m 644 include/assay.h include/assay_arm.h $(TO)/include/
	install -m 644 $(MAN) $(TO)/share/man/man1/
	install -d $(TO)/share/assay/profiles
	install -m 644 $(PROFILES) $(TO)/share/assay/profiles/
	@{ printf 'prefix=%s\nlibdir=$${prefix}/lib\nincludedir=$${prefix}/include\n\n' '$(PREFIX)'; \
	    printf 'Name: assay\nDescription: a performance laboratory for neural networks\nVersion: %s\n' '$(VERSION)'; \
	    printf 'Requires.private: %s\nLibs: -L$${libdir} -lassay\nLibs.private: %s\nCflags: -I$${includedir}\n' \
	    '$(PACKAGES)' '$(SYS_LIBS)'; } >$(TO)/lib/pkgconfig/assay.pc
uninstall:
	rm -f $(TO)/bin/assay $(addprefix $(TO)/lib/,libassay.a $(SONAME) $(SHARED) pkgconfig/assay.pc $(PRELOAD:%=assay/%)) \
	    $(addprefix $(TO)/include/,assay.h assay_arm.h) $(addprefix $(TO)/share/man/man1/,$(notdir $(MAN))) $(addprefix $(TO)/,$(WORDS)) \
	    $(addprefix $(TO)/share/assay/profiles/,$(notdir $(PROFILES)))
	$(if $(PRELOAD),-rmdir $(TO)/lib/assay 2>/dev/null || true)

.PHONY: deb
deb:
	@tools/setup run package
	@$(MAKE) --no-print-directory all
	@tools/deb $(BUILD) build

clean:
	rm -rf build

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_OBJ:.o=.d) $(wildcard $(BUILD)/bench/*.d $(BUILD)/tests/fuzz/*.d $(BUILD)/tests/viewers/*.d)
