// Keeps the library loadable where glibc is as old as 2.31.
//
// A static libstdc++ of a newer system asks glibc 2.32 whether the process has one thread only, to do without
// atomic operations then. Our own answer, which the linker prefers, is no: that is always right.
//
// The rest is done by the linker: -static-libstdc++ (its symbols are newer than old systems' libstdc++),
// -shared-libgcc (a static one asks for _dl_find_object of glibc 2.35), -Wl,--exclude-libs,ALL and
// -Wl,--gc-sections (parts of libstdc++ that nothing here uses ask for arc4random of glibc 2.36); and by the
// .symver lines in thread.cpp.
#if defined(__GLIBC__) || defined(__linux__)
extern "C" char __libc_single_threaded;
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
#endif
