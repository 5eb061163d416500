"""The features again, from the formulas, one row and one window at a time in plain Python.

Shares no code with foxbench.features; only the calendar (tested against the zone database) is
common.
"""

import math
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from slow_statistics import TINY, corr, cov, div, mean, sd, sign, var

CHICAGO = ZoneInfo("America/Chicago")
W6 = (5, 15, 30, 60, 120, 240)


class Slow:
    """``Slow(bars).row(t)`` is a dict of feature name to value."""

    def __init__(self, bars):
        self.n = n = len(bars)
        self.tick = bars.tick_nano / 1e9
        price = {
            k: [x / 1e9 for x in getattr(bars, k).tolist()]
            for k in ("open", "high", "low", "close")
        }
        self.raw = price
        self.o, self.h, self.l, self.c = (
            [math.log(x) for x in price[k]] for k in ("open", "high", "low", "close")
        )
        self.v = [float(x) for x in bars.volume.tolist()]
        ids = bars.instrument_id.tolist()
        fresh = [t == 0 or ids[t] != ids[t - 1] for t in range(n)]
        self.before = [self.o[t] if fresh[t] else self.c[t - 1] for t in range(n)]
        self.r = [self.c[t] - self.before[t] for t in range(n)]
        self.p, total = [], 0.0
        for x in self.r:
            total += x
            self.p.append(total)
        self.r1 = [0.0, *self.r[:-1]]
        self.H = [self.p[t] + self.h[t] - self.c[t] for t in range(n)]
        self.L = [self.p[t] + self.l[t] - self.c[t] for t in range(n)]
        self.R = [self.h[t] - self.l[t] for t in range(n)]
        self.TR = [
            max(self.h[t], self.before[t]) - min(self.l[t], self.before[t]) for t in range(n)
        ]
        self.V = [math.log(1 + x) for x in self.v]
        self.tp0 = [
            math.log((price["high"][t] + price["low"][t] + price["close"][t]) / 3) for t in range(n)
        ]
        self.tp = [self.p[t] + self.tp0[t] - self.c[t] for t in range(n)]
        self.clv = [
            ((self.c[t] - self.l[t]) - (self.h[t] - self.c[t])) / self.R[t] if self.R[t] else 0.0
            for t in range(n)
        ]
        start = datetime(1970, 1, 1, tzinfo=timezone.utc)
        self.ts = [x // 10**9 for x in bars.ts_event.tolist()]
        self.local = [(start + timedelta(seconds=s)).astimezone(CHICAGO) for s in self.ts]
        self.date = [(x.replace(tzinfo=None) + timedelta(hours=7)).date() for x in self.local]
        self._recursive()

    def sigma(self, t, w=240):
        return math.sqrt(mean([x * x for x in self.over(self.r, t, w)]))

    def unit(self, t, w):
        return self.sigma(t) * math.sqrt(w)

    @staticmethod
    def over(x, t, w):
        return x[max(0, t - w + 1) : t + 1]

    def move(self, t, k):
        return self.p[t] - self.p[max(0, t - k)]

    def ema(self, x, alpha):
        out = [x[0]]
        for value in x[1:]:
            out.append(out[-1] + alpha * (value - out[-1]))
        return out

    def span(self, x, n):
        return self.ema(x, 2 / (n + 1))

    def wilder(self, x, n):
        return self.ema(x, 1 / n)

    def _recursive(self):
        """Features that need the whole past; divided by sigma in :meth:`row`."""
        n, p = self.n, self.p
        self.rec = {}
        for w in (7, 14, 28):
            up = self.wilder([max(x, 0) for x in self.r], w)
            down = self.wilder([max(-x, 0) for x in self.r], w)
            self.rec[f"rsi_{w}"] = [div(a - b, a + b) for a, b in zip(up, down, strict=True)]
        self.rec["atr_14"] = atr = self.wilder(self.TR, 14)
        plus, minus = [0.0], [0.0]
        for t in range(1, n):
            up, down = self.H[t] - self.H[t - 1], self.L[t - 1] - self.L[t]
            plus.append(up if up > down and up > 0 else 0.0)
            minus.append(down if down > up and down > 0 else 0.0)
        pdi = [div(a, b) for a, b in zip(self.wilder(plus, 14), atr, strict=True)]
        mdi = [div(a, b) for a, b in zip(self.wilder(minus, 14), atr, strict=True)]
        self.rec["plus_di_14"], self.rec["minus_di_14"] = pdi, mdi
        self.rec["adx_14"] = self.wilder(
            [div(abs(a - b), a + b) for a, b in zip(pdi, mdi, strict=True)], 14
        )
        self.scaled = {}  # name -> (values, window of the unit)
        for w in W6:
            e = self.span(p, w)
            self.scaled[f"ema_distance_{w}"] = ([a - b for a, b in zip(p, e, strict=True)], w)
        for fast, slow, s in ((12, 26, 9), (24, 52, 18)):
            line = [a - b for a, b in zip(self.span(p, fast), self.span(p, slow), strict=True)]
            signal = self.span(line, s)
            self.scaled[f"macd_line_{slow}"] = (line, slow)
            self.scaled[f"macd_signal_{slow}"] = (signal, slow)
            histogram = [a - b for a, b in zip(line, signal, strict=True)]
            self.scaled[f"macd_histogram_{slow}"] = (histogram, slow)
        triple = self.span(self.span(self.span(p, 15), 15), 15)
        trix = [0.0] + [triple[t] - triple[t - 1] for t in range(1, n)]
        self.scaled["trix_15"] = (trix, 1)
        force = self.span([a * b for a, b in zip(self.r, self.v, strict=True)], 13)
        usual = self.span(self.v, 13)
        self.scaled["force_13"] = ([div(a, b) for a, b in zip(force, usual, strict=True)], 1)

    def row(self, t):
        """All features of row t."""
        out = {name: values[t] for name, values in self.rec.items()}
        for name, (values, w) in self.scaled.items():
            out[name] = div(values[t], self.unit(t, w))
        for part in (self._shape, self._returns, self._volatility, self._trend, self._technical):
            out.update(part(t))
        for part in (self._volume, self._microstructure, self._calendar):
            out.update(part(t))
        return out

    def _shape(self, t):
        o, h, low, c, R = self.o[t], self.h[t], self.l[t], self.c[t], self.R[t]
        ticks = (self.raw["high"][t] - self.raw["low"][t]) / self.tick
        upper, lower = h - max(o, c), min(o, c) - low
        return {
            "body": c - o,
            "high_minus_open": h - o,
            "low_minus_open": low - o,
            "range": R,
            "upper_shadow": upper,
            "lower_shadow": lower,
            "body_share": div(c - o, R),
            "upper_share": div(upper, R),
            "lower_share": div(lower, R),
            "clv": self.clv[t],
            "gap": o - self.before[t],
            "log_range_ticks": math.log(1 + ticks),
            "body_sign": sign(c - o),
            "true_range": self.TR[t],
            "typical_minus_close": self.tp0[t] - c,
        }

    def _returns(self, t):
        out = {}
        for k in (1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 45, 60, 90, 120, 240, 480):
            out[f"r_{k}"] = self.move(t, k)
        for k in (1, 5, 15, 30, 60, 120, 240, 480):
            out[f"r_{k}_scaled"] = div(self.move(t, k), self.unit(t, k))
        for k in (1, 2, 3):
            out[f"r_lag_{k}"] = self.r[t - k] if t >= k else 0.0
        return out

    def _volatility(self, t):
        out = {}
        rows = range(self.n)
        for w in W6:
            out[f"sigma_{w}"] = self.sigma(t, w)
            R = self.over(self.R, t, w)
            out[f"parkinson_{w}"] = math.sqrt(mean([x * x for x in R]) / (4 * math.log(2)))
            terms = [
                0.5 * self.R[i] ** 2 - (2 * math.log(2) - 1) * (self.c[i] - self.o[i]) ** 2
                for i in self.over(rows, t, w)
            ]
            out[f"garman_klass_{w}"] = math.sqrt(max(0, mean(terms)))
        for w in (5, 15, 30, 60):
            terms = [
                (self.h[i] - self.c[i]) * (self.h[i] - self.o[i])
                + (self.l[i] - self.c[i]) * (self.l[i] - self.o[i])
                for i in self.over(rows, t, w)
            ]
            out[f"rogers_satchell_{w}"] = math.sqrt(max(0, mean(terms)))
        for w in (30, 60, 120, 240):
            r, r1 = self.over(self.r, t, w), self.over(self.r1, t, w)
            s = self.sigma(t, w)
            bv = math.sqrt(
                math.pi / 2 * mean([abs(a) * abs(b) for a, b in zip(r, r1, strict=True)])
            )
            out[f"bipower_{w}"] = bv
            out[f"jump_share_{w}"] = min(1, max(0, 1 - bv**2 / s**2)) if s > TINY else 0.0
            out[f"downside_share_{w}"] = div(math.sqrt(mean([x * x * (x < 0) for x in r])), s)
        for w in (60, 240):
            spread = [self.sigma(i, 15) for i in self.over(rows, t, w)]
            out[f"sigma_spread_{w}"] = div(sd(spread), self.sigma(t, w))
        for a, b in ((5, 60), (15, 240), (60, 480)):
            out[f"sigma_ratio_{a}_{b}"] = div(self.sigma(t, a), self.sigma(t, b))
        return out

    def _position(self, t, w):
        top, bottom = max(self.over(self.H, t, w)), min(self.over(self.L, t, w))
        return div(self.p[t] - bottom, top - bottom), top, bottom

    def _since(self, values, t, w, pick):
        window = self.over(values, t, w)
        best = pick(window)
        return next(k for k, x in enumerate(reversed(window)) if x == best)

    def _trend(self, t):
        out = {}
        for w in W6:
            p = self.over(self.p, t, w)
            times = list(range(len(p)))
            out[f"price_z_{w}"] = div(self.p[t] - mean(p), sd(p))
            out[f"range_position_{w}"] = self._position(t, w)[0]
            slope = div(cov(times, p), var(times))
            out[f"slope_{w}"] = div(slope * math.sqrt(w), self.sigma(t))
            out[f"time_corr_{w}"] = corr(times, p)
            path = math.fsum(abs(x) for x in self.over(self.r, t, w))
            out[f"efficiency_{w}"] = div(self.move(t, w), path)
        for w in (15, 60, 240):
            out[f"mean_sign_{w}"] = mean([sign(x) for x in self.over(self.r, t, w)])
        for w in (60, 240):
            _, top, bottom = self._position(t, w)
            out[f"since_high_{w}"] = self._since(self.H, t, w, max) / w
            out[f"since_low_{w}"] = self._since(self.L, t, w, min) / w
            out[f"below_high_{w}"] = div(self.p[t] - top, self.unit(t, w))
            out[f"above_low_{w}"] = div(self.p[t] - bottom, self.unit(t, w))
            out[f"autocorr_{w}"] = corr(self.over(self.r, t, w), self.over(self.r1, t, w))
        return out

    def _technical(self, t):
        out = {}
        p = self.over(self.p, t, 20)
        m, s = mean(p), sd(p)
        out["bollinger_width_20"] = div(4 * s, self.unit(t, 20))
        out["bollinger_position_20"] = div(self.p[t] - (m - 2 * s), 4 * s)
        tp = self.over(self.tp, t, 20)
        out["cci_20"] = div(self.tp[t] - mean(tp), 0.015 * mean([abs(x - mean(tp)) for x in tp]))
        out["aroon_25"] = (self._since(self.L, t, 25, min) - self._since(self.H, t, 25, max)) / 25
        rows = self.over(range(self.n), t, 14)
        flow = math.fsum(sign(self.tp[i] - self.tp[i - 1]) * self.v[i] if i else 0.0 for i in rows)
        out["money_flow_14"] = div(flow, math.fsum(self.v[i] for i in rows))
        out["stochastic_14"] = self._position(t, 14)[0]
        three = [self._position(i, 14)[0] for i in self.over(range(self.n), t, 3)]
        out["stochastic_mean_14_3"] = mean(three)
        parts = []
        for w in (7, 14, 28):
            rows = self.over(range(self.n), t, w)
            pressure = math.fsum(self.p[i] - min(self.L[i], self.p[i] - self.r[i]) for i in rows)
            parts.append(div(pressure, math.fsum(self.TR[i] for i in rows)))
        out["ultimate_7_14_28"] = (4 * parts[0] + 2 * parts[1] + parts[2]) / 7
        place, top, bottom = self._position(t, 20)
        out["donchian_width_20"] = div(top - bottom, self.unit(t, 20))
        out["donchian_position_20"] = place
        r = self.over(self.r, t, 14)
        out["chande_14"] = div(math.fsum(r), math.fsum(abs(x) for x in r))
        return out

    def _volume(self, t):
        out = {"log_volume": self.V[t]}
        rows = range(self.n)
        for w in W6:
            out[f"v_m_{w}"] = self.V[t] - mean(self.over(self.V, t, w))
            r, v = self.over(self.r, t, w), self.over(self.v, t, w)
            signed = math.fsum(sign(a) * b for a, b in zip(r, v, strict=True))
            out[f"signed_volume_{w}"] = div(signed, math.fsum(v))
        for w in (30, 60, 240):
            V = self.over(self.V, t, w)
            out[f"v_z_{w}"] = div(self.V[t] - mean(V), sd(V))
        for w in (15, 60, 240):
            v, tp = self.over(self.v, t, w), self.over(self.tp, t, w)
            total = math.fsum(v)
            vwap = math.fsum(a * b for a, b in zip(v, tp, strict=True)) / total if total else 0.0
            out[f"vwap_{w}"] = div(self.tp[t] - vwap, self.unit(t, w)) if total else 0.0
        for w in (60, 240):
            obv, total = [], 0.0
            for i in self.over(rows, t, w):
                total += sign(self.r[i]) * self.v[i]
                obv.append(total)
            out[f"obv_time_corr_{w}"] = corr(list(range(len(obv))), obv)
            size = [abs(x) for x in self.over(self.r, t, w)]
            out[f"volume_move_corr_{w}"] = corr(self.over(self.V, t, w), size)
        for w in (20, 60):
            v = self.over(self.v, t, w)
            flow = math.fsum(a * b for a, b in zip(self.over(self.clv, t, w), v, strict=True))
            out[f"chaikin_flow_{w}"] = div(flow, math.fsum(v))
        ticks = (self.raw["high"][t] - self.raw["low"][t]) / self.tick
        out["v_minus_range"] = self.V[t] - math.log(1 + ticks)
        session = self._session(t)
        total = math.fsum(self.v[i] for i in session)
        vwap = div(math.fsum(self.v[i] * self.tp[i] for i in session), total)
        distance = self.tp[t] - vwap if total else 0.0
        out["vwap_session"] = div(distance, self.unit(t, 240))
        return out

    def _corwin_schultz(self, i):
        j = max(0, i - 1)
        k = 3 - 2 * math.sqrt(2)
        beta = self.R[i] ** 2 + self.R[j] ** 2
        gamma = (max(self.H[i], self.H[j]) - min(self.L[i], self.L[j])) ** 2
        alpha = (math.sqrt(2 * beta) - math.sqrt(beta)) / k - math.sqrt(gamma / k)
        return max(0.0, 2 * (math.exp(alpha) - 1) / (1 + math.exp(alpha)))

    def _abdi_ranaldo(self, i):
        j = max(0, i - 1)
        now, then = (self.H[i] + self.L[i]) / 2, (self.H[j] + self.L[j]) / 2
        return (self.p[j] - then) * (self.p[j] - now)

    def _imbalance(self, i):
        z = div(self.r[i], self.sigma(i, 60))
        return self.v[i] * math.tanh(0.79788 * (z + 0.044715 * z**3))

    def _microstructure(self, t):
        out = {}
        rows = range(self.n)
        for w in (30, 60, 120, 240):
            c = cov(self.over(self.r, t, w), self.over(self.r1, t, w))
            out[f"roll_spread_{w}"] = 2 * math.sqrt(max(0, -c))
        for w in (30, 60, 240):
            out[f"corwin_schultz_{w}"] = mean(
                [self._corwin_schultz(i) for i in self.over(rows, t, w)]
            )
            m = mean([self._abdi_ranaldo(i) for i in self.over(rows, t, w)])
            out[f"abdi_ranaldo_{w}"] = 2 * math.sqrt(max(0, m))
        for w in (15, 60, 240):
            m = mean([abs(self.r[i]) / max(self.v[i], 1) for i in self.over(rows, t, w)])
            out[f"amihud_{w}"] = math.log(1 + 1e9 * m)
        for w in (60, 120, 240):
            r = self.over(self.r, t, w)
            x = [sign(a) * math.sqrt(b) for a, b in zip(r, self.over(self.v, t, w), strict=True)]
            out[f"kyle_{w}"] = div(1e5 * cov(r, x), var(x))
        for w in (60, 240):
            informed = [
                abs(mean([self._imbalance(j) for j in self.over(rows, i, 5)]))
                for i in self.over(rows, t, w)
            ]
            out[f"vpin_{w}"] = div(mean(informed), mean(self.over(self.v, t, w)))
        r2 = mean([x * x for x in self.over(self.r, t, 240)])
        for q in (2, 5, 15):
            m = mean([self.move(i, q) ** 2 for i in self.over(rows, t, 240)])
            out[f"variance_ratio_{q}"] = m / (q * r2) if math.sqrt(q * r2) > TINY else 0.0
        out["unchanged_share_60"] = mean([float(x == 0) for x in self.over(self.r, t, 60)])
        return out

    def _session(self, t):
        start = t
        while start > 0 and self.date[start - 1] == self.date[t]:
            start -= 1
        return range(start, t + 1)

    def _calendar(self, t):
        minute = self.local[t].hour * 60 + self.local[t].minute
        date = self.date[t]
        out = {}
        for k in (1, 2):
            out[f"minute_sin_{k}"] = math.sin(2 * math.pi * k * minute / 1440)
            out[f"minute_cos_{k}"] = math.cos(2 * math.pi * k * minute / 1440)
        out["weekday_sin"] = math.sin(2 * math.pi * date.weekday() / 5)
        out["weekday_cos"] = math.cos(2 * math.pi * date.weekday() / 5)
        out["minutes_since_open"] = ((minute - 17 * 60) % 1440) / 1380
        out["regular_hours"] = float(8 * 60 + 30 <= minute < 15 * 60)
        out["regular_hours_position"] = max(-1.0, min(1.5, (minute - 510) / 390))
        out["london"] = float(2 * 60 <= minute < 10 * 60 + 30)
        out["asia"] = float(minute >= 17 * 60 or minute < 2 * 60)
        out["log_gap_minutes"] = math.log(1 + (self.ts[t] - self.ts[t - 1]) / 60 - 1) if t else 0.0
        session = self._session(t)
        out["log_session_bars"] = math.log(1 + len(session))
        day = date
        while not (day.month % 3 == 0 and day.weekday() == 4 and 15 <= day.day <= 21):
            day += timedelta(days=1)
        out["expiry_distance"] = (day - date).days / 91
        out["roll_week"] = float((day - date).days <= 8)
        first = session[0]
        opened = self.p[first] + self.o[first] - self.c[first]
        out["session_return"] = self.p[t] - opened
        out["below_session_high"] = self.p[t] - max(self.H[i] for i in session)
        out["above_session_low"] = self.p[t] - min(self.L[i] for i in session)
        out["since_last_session"] = self.p[t] - (self.p[first - 1] if first else opened)
        volume = math.fsum(self.v[i] for i in session)
        out["session_volume_per_bar"] = math.log(1 + volume) - math.log(1 + len(session))
        return out
