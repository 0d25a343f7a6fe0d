#include "textflag.h"

// An entry takes a closure from its place in contexts and goes on in it, with the arguments where the caller put them.
// Entries are 16 bytes long.
#define STUB(i) MOVQ ·contexts+((i)*8)(SB), DX; MOVQ (DX), R12; JMP R12; PCALIGN $16
#define STUB8(i) STUB((i)+0); STUB((i)+1); STUB((i)+2); STUB((i)+3); STUB((i)+4); STUB((i)+5); STUB((i)+6); STUB((i)+7)
#define STUB64(i) STUB8((i)+0); STUB8((i)+8); STUB8((i)+16); STUB8((i)+24); STUB8((i)+32); STUB8((i)+40); STUB8((i)+48); STUB8((i)+56)
#define STUB512(i) STUB64((i)+0); STUB64((i)+64); STUB64((i)+128); STUB64((i)+192); STUB64((i)+256); STUB64((i)+320); STUB64((i)+384); STUB64((i)+448)

// func stubs()
TEXT ·stubs(SB), NOSPLIT|NOFRAME, $0-0
	PCALIGN $16
	STUB512(0)
	STUB512(512)
	STUB512(1024)
	STUB512(1536)
	STUB512(2048)
	STUB512(2560)
	STUB512(3072)
	STUB512(3584)
	STUB512(4096)
	STUB512(4608)
	STUB512(5120)
	STUB512(5632)
	STUB512(6144)
	STUB512(6656)
	STUB512(7168)
	STUB512(7680)
	RET

DATA ·stubBase(SB)/8, $·stubs(SB)
GLOBL ·stubBase(SB), RODATA, $8
