"""Accuracy against epsilon."""

import streamlit as st

st.title("Trade-off")
