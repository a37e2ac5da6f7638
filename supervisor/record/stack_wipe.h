/* What calls that have returned left on the stack. */
#pragma once

/*
 * Overwrite it, below the caller's frame: buffers, and registers that were saved there, which held
 * pieces of what a session wrote or keeps secret. To be called when that is to be gone.
 */
void stack_wipe(void);
