// Keeps the library loadable where glibc is as old as 2.31.
//
// A static libstdc++ of a newer system asks glibc 2.32 whether the process has only one thread, to avoid atomic
// operations then. The linker prefers our own answer, which is no: that is always right.
//
// The linker does the rest: -static-libstdc++ (its symbols are newer than old systems' libstdc++), -shared-libgcc (a
// static one needs _dl_find_object of glibc 2.35), -Wl,--exclude-libs,ALL and -Wl,--gc-sections (unused parts of
// libstdc++ need arc4random of glibc 2.36). So do the .symver lines in thread.cpp.
#if defined(__GLIBC__) || defined(__linux__)
extern "C" char __libc_single_threaded;
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
#endif
