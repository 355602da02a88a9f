--
-- PostgreSQL database dump
--



SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: book; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.book (
    id integer NOT NULL,
    title text NOT NULL,
    author text NOT NULL,
    copies integer NOT NULL
);


--
-- Name: hold; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.hold (
    id integer NOT NULL,
    book_id integer NOT NULL,
    member_id integer NOT NULL,
    placed_on date NOT NULL
);


--
-- Name: hold_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.hold ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.hold_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: loan; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.loan (
    id integer NOT NULL,
    book_id integer NOT NULL,
    member_id integer NOT NULL,
    lent_on date NOT NULL,
    due_on date NOT NULL
);


--
-- Name: loan_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.loan ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.loan_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: member; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.member (
    id integer NOT NULL,
    name text NOT NULL,
    blocked boolean DEFAULT false NOT NULL
);


--
-- Name: today; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.today (
    day date NOT NULL
);


--
-- PostgreSQL database dump complete
--


COPY public.book (id, title, author, copies) FROM stdin;
1	The Left Hand of Darkness	Ursula K. Le Guin	2
2	The Dispossessed	Ursula K. Le Guin	1
3	Kindred	Octavia E. Butler	1
4	Solaris	Stanislaw Lem	3
5	Roadside Picnic	Arkady and Boris Strugatsky	1
\.

COPY public.hold (id, book_id, member_id, placed_on) FROM stdin;
\.

COPY public.loan (id, book_id, member_id, lent_on, due_on) FROM stdin;
1	3	2	2026-02-20	2026-03-06
2	4	2	2026-02-20	2026-03-06
3	1	4	2026-02-25	2026-03-11
\.

COPY public.member (id, name, blocked) FROM stdin;
1	Ada	f
2	Ben	f
3	Chloe	t
4	Dan	f
\.

COPY public.today (day) FROM stdin;
2026-03-02
\.

select pg_catalog.setval('public.hold_id_seq', 1, 'f');
select pg_catalog.setval('public.loan_id_seq', 3, 't');
--
-- PostgreSQL database dump
--



SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

--
-- Name: book book_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.book
    ADD CONSTRAINT book_pkey PRIMARY KEY (id);


--
-- Name: book book_title_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.book
    ADD CONSTRAINT book_title_key UNIQUE (title);


--
-- Name: hold hold_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_pkey PRIMARY KEY (id);


--
-- Name: loan loan_book_id_member_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.loan
    ADD CONSTRAINT loan_book_id_member_id_key UNIQUE (book_id, member_id);


--
-- Name: loan loan_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.loan
    ADD CONSTRAINT loan_pkey PRIMARY KEY (id);


--
-- Name: member member_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.member
    ADD CONSTRAINT member_pkey PRIMARY KEY (id);


--
-- Name: today today_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.today
    ADD CONSTRAINT today_pkey PRIMARY KEY (day);


--
-- Name: hold hold_book_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id);


--
-- Name: hold hold_member_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.hold
    ADD CONSTRAINT hold_member_id_fkey FOREIGN KEY (member_id) REFERENCES public.member(id);


--
-- Name: loan loan_book_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.loan
    ADD CONSTRAINT loan_book_id_fkey FOREIGN KEY (book_id) REFERENCES public.book(id);


--
-- Name: loan loan_member_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.loan
    ADD CONSTRAINT loan_member_id_fkey FOREIGN KEY (member_id) REFERENCES public.member(id);


--
-- PostgreSQL database dump complete
--


