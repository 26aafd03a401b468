//! Stochastic processes dZ = drift dt + diffusion dW with diagonal diffusion, and their solvers.
