"""Targets of the world `kernel`: this machine (`local`), another machine (`ssh`), a phone
(`adb`).
"""
