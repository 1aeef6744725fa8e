"""The dashboard's launcher: `streamlit run app.py`.

The pages' frame is `pages/main.py`, not this file: beside a folder named `pages`, a script that holds the navigation
itself would let Streamlit run a page without its frame when a deep link is the first request.
"""

import streamlit as st

from pages.parts import server, service

service.keep_data_out_of_the_log()
app = st.App(
    "pages/main.py",
    lifespan=service.lifespan,
    routes=server.routes(),
    middleware=[*service.middleware(), *server.middleware()],
)
