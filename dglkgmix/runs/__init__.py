"""Run folders: what is stored of a training, and what is read again."""
