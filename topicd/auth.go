package topicd

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	ticketHeader = "x-ydb-auth-ticket"
	loginMethod  = "/Ydb.Auth.V1.AuthService/Login"
	tokenLife    = 12 * time.Hour
)

// tokens makes and checks the tokens of the one static user: JSON web tokens
// (HS256), as clients read the end of their life from them. The key comes from
// the password, so tokens outlive a restart and end with a new password.
type tokens struct {
	user, password string
	key            [sha256.Size]byte
}

func newTokens(user, password string) *tokens {
	return &tokens{user: user, password: password, key: sha256.Sum256([]byte("topicd token\x00" + user + "\x00" + password))}
}

// required tells whether calls need a token.
func (t *tokens) required() bool { return t.user != "" }

func (t *tokens) correct(user, password string) bool {
	u := subtle.ConstantTimeCompare([]byte(user), []byte(t.user))
	p := subtle.ConstantTimeCompare([]byte(password), []byte(t.password))
	return t.required() && u&p == 1
}

type claims struct {
	Subject  string `json:"sub"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

var tokenEncoding = base64.RawURLEncoding //nolint:gochecknoglobals // an immutable encoding

const tokenHeader = `{"alg":"HS256","typ":"JWT"}`

func (t *tokens) issue(now time.Time) (string, error) {
	body, err := json.Marshal(claims{Subject: t.user, IssuedAt: now.Unix(), Expires: now.Add(tokenLife).Unix()})
	if err != nil {
		return "", err
	}
	signed := tokenEncoding.EncodeToString([]byte(tokenHeader)) + "." + tokenEncoding.EncodeToString(body)
	return signed + "." + tokenEncoding.EncodeToString(t.sign(signed)), nil
}

func (t *tokens) sign(text string) []byte {
	mac := hmac.New(sha256.New, t.key[:])
	_, _ = mac.Write([]byte(text)) // a hash takes everything
	return mac.Sum(nil)
}

func (t *tokens) valid(token string, now time.Time) bool {
	dot := strings.LastIndexByte(token, '.')
	if dot < 0 {
		return false
	}
	signature, err := tokenEncoding.DecodeString(token[dot+1:])
	if err != nil || !hmac.Equal(signature, t.sign(token[:dot])) {
		return false
	}
	_, part, ok := strings.Cut(token[:dot], ".")
	if !ok {
		return false
	}
	body, err := tokenEncoding.DecodeString(part)
	if err != nil {
		return false
	}
	var c claims
	return json.Unmarshal(body, &c) == nil && now.Unix() < c.Expires
}

// check refuses a call over the network that comes without a valid token.
func (t *tokens) check(ctx context.Context, method string) error {
	if !t.required() || method == loginMethod {
		return nil
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		for _, token := range md.Get(ticketHeader) {
			if t.valid(token, time.Now()) {
				return nil
			}
		}
	}
	return status.Error(codes.Unauthenticated, "Access denied: no valid token")
}

func (t *tokens) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := t.check(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (t *tokens) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := t.check(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return next(srv, stream)
}
