# Builds the fuzzer of the device process's channel: make -f channel.mk ROOT=CHECKOUT OUT=FOLDER
SOURCES := $(filter-out $(ROOT)/cuda/runtime/channel_server.cpp,$(wildcard $(ROOT)/cuda/runtime/*.cpp) $(wildcard $(ROOT)/cuda/reference/*.cpp))
OBJECTS := $(patsubst $(ROOT)/cuda/%.cpp,$(OUT)/objects/%.o,$(SOURCES)) $(OUT)/objects/channel.o
FLAGS := -std=c++17 -O1 -g -pthread -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
  -ffp-contract=off -I$(ROOT)/cuda -I$(ROOT)/dist/objects/cpu

$(OUT)/fuzz_channel: $(OBJECTS)
	clang++ -fsanitize=fuzzer,address,undefined -pthread $^ -o $@

# A source asks for flags in its first line.
$(OUT)/objects/%.o: $(ROOT)/cuda/%.cpp
	@mkdir -p $(@D)
	clang++ $(FLAGS) $(shell sed -n '1s,^// flags: ,,p' $<) -MMD -c $< -o $@

$(OUT)/objects/channel.o: $(ROOT)/tools/fuzz/channel.cpp $(ROOT)/cuda/runtime/channel_server.cpp
	@mkdir -p $(@D)
	clang++ $(FLAGS) -MMD -c $< -o $@

-include $(OBJECTS:.o=.d)
